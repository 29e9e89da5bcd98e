import { keepThreads } from '#jobs/lane-threads.js';

// Runs before every file. The first services of a file reuse threads of earlier files, which have none of its data.
keepThreads();
