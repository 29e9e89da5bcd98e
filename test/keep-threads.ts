import { keepThreads } from '#jobs/lane-threads.js';

// Run before every file. Services that one file starts one after the other have threads that know nothing of its data.
keepThreads();
