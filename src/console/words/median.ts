/** Returns the median of numbers; 0 if there are none. */
export function computeMedian(values: readonly number[]): number {
  const sortedValues = values.toSorted((a, b) => a - b);
  const [low, high] = [
    sortedValues[Math.floor((sortedValues.length - 1) / 2)],
    sortedValues[Math.ceil((sortedValues.length - 1) / 2)],
  ];
  return ((low ?? 0) + (high ?? 0)) / 2;
}
