import { register } from 'node:module';

/**
 * Runs before the product is loaded: Node then loads replacements of the test instead of some modules of the product.
 */
register(new URL('./module-hooks.js', import.meta.url));
