import { register } from 'node:module';

/** Run before the program is loaded: Node then loads modules of the test instead of the program's. */
register(new URL('./module-hooks.js', import.meta.url));
