import type { DataWarningKind } from '#domain/market/data-warning-kinds.js';
import type { CorporateAction } from '#domain/market/market-data.js';

/** A change to a store that would resolve a data warning. Days are inclusive. */
export type Repair =
  | Scale
  | {
      readonly kind: 'remove_values';
      readonly identifier: string;
      readonly from: string;
      readonly to: string;
      readonly columns: readonly string[];
    }
  | { readonly kind: 'insert_action'; readonly action: ActionRow }
  | {
      readonly kind: 'replace_action';
      readonly action: ActionRow;
      readonly value: number;
      /** Corrected ex-date; absent if the ex-date is unchanged. */
      readonly ex_date?: string;
    }
  | { readonly kind: 'remove_action'; readonly action: ActionRow };

/** Multiplication of columns by a factor; share counts on the same days are divided by it. */
interface Scale {
  readonly kind: 'scale';
  readonly identifier: string;
  readonly from: string;
  readonly to: string;
  readonly columns: readonly string[];
  readonly factor: number;
  readonly inverse_columns?: readonly string[];
}

/** Fields that identify an action. */
export interface ActionRow {
  readonly identifier: string;
  readonly type: CorporateAction['type'];
  readonly value: number;
  readonly ex_date: string;
}

/** Probable error in a store. */
export interface DataWarning {
  /** Identifies the data warning in a request for repairs; equal data gives equal ids. */
  readonly id: string;
  readonly kind: DataWarningKind;
  readonly identifier: string;
  readonly date: string;
  /** Confidence in the finding, 0 to 1. */
  readonly confidence: number;
  readonly message: string;
  /** Figures that support the warning. */
  readonly evidence: Readonly<Record<string, number | string>>;
  /** Null if the data does not determine the correct value. */
  readonly repair: Repair | null;
}
