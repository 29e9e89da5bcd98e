import { register } from 'node:module';

/** Run before the program is loaded: Node then loads the commits of the test instead of its own. */
register(new URL('./commit-hooks.js', import.meta.url));
