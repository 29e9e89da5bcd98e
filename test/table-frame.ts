/** Returns a table as rows with their columns, in the form in which the service accepts it. */
export const createFrame = (columns: readonly string[], data: readonly (readonly unknown[])[]) => ({
  index: data.map((_, i) => i),
  columns,
  data,
});
