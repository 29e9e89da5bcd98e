import { register } from 'node:module';

/** Run before the program is loaded: Node then loads modules of the test instead of its own. */
register(new URL('./module-hooks.js', import.meta.url));
