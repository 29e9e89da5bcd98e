import { keepThreads } from '#jobs/pool.js';

// Runs before every test file. The first services of a file use threads of earlier files again. These threads keep no
// data of the earlier files.
keepThreads();
