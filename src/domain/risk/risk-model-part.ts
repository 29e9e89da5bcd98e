/** Part of a risk model's JSON that a worker writes. A long body is produced in parts while it is read. */
export type RiskModelPart =
  | {
      readonly part: 'covariance' | 'correlation';
      /** Rows `from` to `to` (exclusive), with commas between them. */ readonly from: number;
      readonly to: number;
    }
  | { readonly part: 'volatilities'; readonly assetIds: readonly string[] };
