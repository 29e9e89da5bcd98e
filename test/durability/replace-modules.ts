import { register } from 'node:module';

/**
 * Runs before the product is loaded. Afterwards Node loads modules of the test in place of some modules of the product.
 */
register(new URL('./module-hooks.js', import.meta.url));
