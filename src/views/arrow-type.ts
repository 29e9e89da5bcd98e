/** Media type of an Arrow IPC stream. */
export const ARROW_TYPE = 'application/vnd.apache.arrow.stream';
