/** A part of a risk model's JSON that a worker writes: a long body is made part by part, as its reader takes it. */
export type RiskModelPart =
  | {
      readonly part: 'covariance' | 'correlation';
      /** Rows `from` to `to` (exclusive), commas between them. */ readonly from: number;
      readonly to: number;
    }
  | { readonly part: 'volatilities'; readonly assetIds: readonly string[] };
