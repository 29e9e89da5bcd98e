import { keepThreads } from '#jobs/lane-threads.js';

// Runs before every test file. The first services of a file reuse threads of earlier files, which keep no data of them.
keepThreads();
