/** True for `npm run soak`. This is the long form of the tests and the only one that asserts documented durations. */
export const IS_SOAK = process.env['SOAK'] !== undefined;
