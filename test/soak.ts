/** Whether this is `npm run soak`: the long form of the tests, and the only one that asserts how long anything takes. */
export const IS_SOAK = process.env['SOAK'] !== undefined;
