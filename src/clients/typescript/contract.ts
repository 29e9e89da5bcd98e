// Written from the OpenAPI document by `npm run generate`; edit the contract instead.

export interface AcceptedFinding {
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** Security or series; null for the whole index. */
  readonly identifier: string | null;
  /** Description of the finding in a sentence. */
  readonly message: string;
  /** Value and limit; null for a finding without a value. */
  readonly measure: CheckMeasure | null;
}

export interface AccountBacktestJobStatus {
  /** {kind}:{id}, for example backtest:LARGE-100. */
  readonly job_id: string;
  readonly kind: 'account';
  /** Order in which waiting jobs start. */
  readonly priority: 'high' | 'normal' | 'low';
  /** pending -> running -> succeeded, failed or cancelled. Terminal states never change. */
  readonly status: 'pending' | 'running' | 'succeeded' | 'failed' | 'cancelled';
  /** Completed fraction: 0 while pending, exactly 1 after success. It never decreases during an attempt. */
  readonly progress: number;
  /** Current step. */
  readonly message: string;
  /** Error of the job; only if it failed. */
  readonly error: ErrorDetail | null;
  /** Time of the submission, ISO-8601 UTC with offset. */
  readonly created_at: string;
  /** Start of the current attempt. */
  readonly started_at: string | null;
  /** Time of the end, ISO-8601 UTC with offset; null while it has not ended. */
  readonly finished_at: string | null;
  /** Time of the last heartbeat of the running attempt. */
  readonly heartbeat_at: string | null;
  /** Number of starts, which is recorded before the work starts. */
  readonly attempt: number;
  /** Latest attempts in order, at most eleven. The last one is the current attempt. */
  readonly attempts: readonly JobAttempt[];
  /** Request body as it was accepted. */
  readonly request: unknown;
  /** SHA-256 of all inputs except the market. */
  readonly input_hash: string;
  /** X-Request-Id of the submission, which log lines of the job contain. Null if the service submitted the job. */
  readonly request_id: string | null;
  /** Trace of the submission, from its header traceparent. */
  readonly trace_id: string | null;
  /** Addresses that are notified when the job ends. */
  readonly callbacks: readonly JobCallback[];
  /** Result of the job, if it succeeded. Null if the run of a backtest was deleted. */
  readonly result: AccountBacktestView | null;
}

export interface AccountBacktestRequest {
  /** Id of the result. Default: a generated id. */
  readonly backtest_id?: string | null | undefined;
  /** Account before the first session. */
  readonly account: PersonalAccount;
  /** Stored factor model. */
  readonly risk_model: string;
  /** Objective: an object with a type of `/optimise/objective-types` and its parameters, or only the type. A derived index accepts only the type `min_tracking_error` without an object. */
  readonly objective?: BatchObjective | undefined;
  /** Constraints. Without constraints, weights are long-only and add up to 1. */
  readonly constraints?: readonly BatchRow[] | undefined;
  /** True limits trades to whole shares. */
  readonly whole_shares?: boolean | undefined;
  /** Maximum number of branches per account if rounding leaves a gap; 0 turns the search off. */
  readonly search_nodes?: number | undefined;
  /** First day. The lots are those held on this day. */
  readonly start: string;
  /** Default: the last session of the data. */
  readonly end?: string | null | undefined;
  /** Frequency of the trades. The account trades on its first session, and on the first session of each month, quarter or year. */
  readonly rebalance?: 'monthly' | 'quarterly' | 'yearly' | undefined;
  /** Tax rate of dividends. */
  readonly dividend_rate?: number | undefined;
}

export interface AccountBacktestView {
  /** The backtest. */
  readonly backtest_id: string;
  /** Index that the account follows. */
  readonly index_id: string;
  /** The account. */
  readonly account_id: string;
  /** First session. */
  readonly start: string;
  /** Last session. */
  readonly end: string;
  /** Value on the last session. */
  readonly final_value: number;
  /** Value less the unpaid tax of the year. */
  readonly final_value_after_tax: number;
  /** Annual return of the value after tax. */
  readonly annual_return_after_tax: number;
  /** Taxes paid. */
  readonly tax_paid: number;
  /** Trading costs. */
  readonly costs: number;
  /** Dividends received. */
  readonly dividends: number;
  /** Largest gap of a certificate, as a fraction of the value. */
  readonly largest_gap: number | null;
  /** Account by session. */
  readonly sessions: readonly {
    /** The date. */
    readonly date: string;
    /** Cash and holdings at the close. */
    readonly value: number;
    /** Cash at the close: cash of the previous session plus the entries of this session. */
    readonly cash: number;
    /** Unpaid tax of the year so far. */
    readonly accrued_tax: number;
  }[];
  /** Rebalances of the account. */
  readonly rebalances: readonly {
    /** The date. */
    readonly date: string;
    /** Status of the solution. An infeasible rebalance trades nothing. */
    readonly status: string;
    /** Number of trades. */
    readonly trades: number;
    /** One-way turnover, as a fraction of the value. */
    readonly turnover: number;
    /** Annual tracking error after the trades. */
    readonly tracking_error: number;
    /** Gap of the certificate. */
    readonly gap: number;
    /** Trades that the wash sale rule prevented. */
    readonly avoided_wash_sales: number;
  }[];
  /** Every movement of cash. */
  readonly entries: readonly ({
    /** The date. */
    readonly date: string;
    /** Reason of the movement. */
    readonly kind: 'buy' | 'sell' | 'cost' | 'dividend' | 'action' | 'tax';
    /** Security; null for costs and taxes. */
    readonly identifier: string | null;
    /** Shares bought; negative for a sale. */
    readonly shares: number;
    /** Cash received; negative if paid. */
    readonly amount: number;
    /** Lot of a sale, or of a corporate action with a gain, and the gain realised; otherwise null. Absent in results of earlier versions. */
    readonly lot?: {
      /** Start of the holding period. */
      readonly acquired: string;
      /** Basis per share. */
      readonly cost: number;
      /** Realised gain that is taxed; 0 if the loss is disallowed. */
      readonly gain: number;
      /** Loss added to the basis of the replacement. */
      readonly disallowed_loss: number;
      /** Holding period of the lot. */
      readonly term: 'short' | 'long';
    } | null | undefined;
  })[];
  /** Tax years, including that of the last session. */
  readonly years: readonly ({
    /** Calendar year. */
    readonly year: number;
    /** Net short-term gains. */
    readonly short_gain: number;
    /** Net long-term gains. */
    readonly long_gain: number;
    /** Dividends. */
    readonly dividends: number;
    /** Losses carried forward from the previous year. */
    readonly carried: number;
    /** Tax, paid on the first session of the next year. */
    readonly tax: number;
    /** False for the year of the last session, whose figures are those so far. Absent in results of earlier versions. */
    readonly is_paid?: boolean | undefined;
  })[];
  /** Lots on the last session. */
  readonly lots: readonly ({
    /** Asset identifier. */
    readonly identifier: string;
    /** Shares of the lot. */
    readonly shares: number;
    /** Basis per share. */
    readonly cost: number;
    /** Start of the holding period. */
    readonly acquired: string;
    /** Day of the purchase of shares that have replaced shares sold at a loss; absent for other lots. */
    readonly bought?: string | undefined;
  })[];
  /** SHA-256 of the data that was read. */
  readonly store_content_hash: string;
  /** Version of the engine that computed the result. */
  readonly engine_version: string;
}

export interface AccountDefaults {
  /** Cash, in the currency of the index. */
  readonly cash?: number | undefined;
  /** Securities that are sold and not bought. */
  readonly exclusions?: readonly string[] | undefined;
  /** Weights that are added to the weights of the parent, by security. */
  readonly tilts?: Readonly<Record<string, number>> | undefined;
  /** Maximum annual tracking error. */
  readonly tracking_error_limit?: number | null | undefined;
  /** Minimum trade, in money. */
  readonly minimum_trade?: number | undefined;
  /** Groups of securities that are treated as identical for wash sales. */
  readonly substitutes?: readonly (readonly string[])[] | undefined;
  /** Rates and rules of the tax. */
  readonly tax?: {
    /** Tax rate of short-term gains. */
    readonly short_rate?: number | undefined;
    /** Tax rate of long-term gains (after more than one year). */
    readonly long_rate?: number | undefined;
    /** Losses carried forward, in money. */
    readonly carry_forward?: number | undefined;
    /** Number of days before and after a sale at a loss. */
    readonly wash_sale_days?: number | undefined;
    /** Treatment of losses within the window: they are disallowed and added to the basis, or sales with such losses are not made. */
    readonly wash_sales?: 'disallow' | 'forbid' | undefined;
    /** Order in which lots of a security are sold: lowest tax, highest cost, or oldest first. */
    readonly lot_method?: 'specific' | 'hifo' | 'fifo' | undefined;
    /** Short-term and long-term gains offset each other, or each offsets only losses of the same term. */
    readonly netting?: 'us' | 'separate' | undefined;
    /** Weight of taxes in the objective. */
    readonly weight?: number | undefined;
    /** Value of one unit of net loss carried forward; at most the long-term rate. */
    readonly loss_value?: number | undefined;
    /** Budget of net gains: maximum of short-term plus long-term gains of the year, less losses carried forward, in money. The tax itself has `limit`. */
    readonly budget?: number | null | undefined;
    /** Maximum tax of the year, in money. It must not exceed this limit after the trades. */
    readonly limit?: number | null | undefined;
    /** Net gains realised this year before these trades, in money. */
    readonly realised?: {
      /** Short-term. */
      readonly short?: number | undefined;
      /** Long-term. */
      readonly long?: number | undefined;
    } | undefined;
  } | undefined;
}

export interface AccountLot {
  /** Asset identifier. */
  readonly identifier: string;
  /** Shares of the lot. */
  readonly shares: number;
  /** Cost basis per share, in the currency of the index. */
  readonly cost: number;
  /** Day of the purchase. With `bought`, the day before the holding period begins. */
  readonly acquired: string;
  /** Day of the purchase of shares that have replaced shares sold at a loss: their holding period began earlier, and they replace no other shares. */
  readonly bought?: string | undefined;
}

export interface AccountTax {
  /** Tax rate of short-term gains. */
  readonly short_rate?: number | undefined;
  /** Tax rate of long-term gains (after more than one year). */
  readonly long_rate?: number | undefined;
  /** Losses carried forward, in money. */
  readonly carry_forward?: number | undefined;
  /** Net gains realised this year before these trades, in money. */
  readonly realised?: {
    /** Short-term. */
    readonly short?: number | undefined;
    /** Long-term. */
    readonly long?: number | undefined;
  } | undefined;
  /** Number of days before and after a sale at a loss. */
  readonly wash_sale_days?: number | undefined;
  /** Treatment of losses within the window: they are disallowed and added to the basis, or sales with such losses are not made. */
  readonly wash_sales?: 'disallow' | 'forbid' | undefined;
  /** Order in which lots of a security are sold: lowest tax, highest cost, or oldest first. */
  readonly lot_method?: 'specific' | 'hifo' | 'fifo' | undefined;
  /** Short-term and long-term gains offset each other, or each offsets only losses of the same term. */
  readonly netting?: 'us' | 'separate' | undefined;
  /** Weight of taxes in the objective. */
  readonly weight?: number | undefined;
  /** Value of one unit of net loss carried forward; at most the long-term rate. */
  readonly loss_value?: number | undefined;
  /** Budget of net gains: maximum of short-term plus long-term gains of the year, less losses carried forward, in money. The tax itself has `limit`. */
  readonly budget?: number | null | undefined;
  /** Maximum tax of the year, in money. It must not exceed this limit after the trades. */
  readonly limit?: number | null | undefined;
}

export interface ActionChoice {
  /** `take_up`: subscribe for all new shares of a rights issue, with cash from outside; `sell`: sell the rights at their theoretical value; the cash leaves the index; `sell_to_fund`: sell enough rights to pay for the subscription of the others; `lapse`: let the rights expire without value; `accept_cash`: accept the cash of an offer of cash or shares, or of a scrip dividend; the cash leaves the index; `accept_shares`: accept the shares of an offer of cash or shares, or the new shares of a scrip dividend */
  readonly choice: 'take_up' | 'sell' | 'sell_to_fund' | 'lapse' | 'accept_cash' | 'accept_shares';
  /** Weight at prices that change only because of the action. */
  readonly weight_after: number;
  /** Index shares. */
  readonly shares_after: number;
  /** Cash per share held before, in the currency of the security; negative if the holder pays. */
  readonly cash: number;
  /** Shares of another security; null if there are none. */
  readonly received: ReceivedShares | null;
}

export interface ActionDecision {
  /** Decision about the action. */
  readonly decision: 'confirmed' | 'rejected' | 'reopened';
  /** Terms of the action at the time of the decision. */
  readonly terms: ActionTerms;
  /** Other sources with which the person compared the action. */
  readonly sources: readonly ActionSource[];
  /** Comment; null if there is none. */
  readonly comment: string | null;
  /** Name of the key. */
  readonly author: string;
  /** Id of the key. */
  readonly key_id: string | null;
  /** Time of the decision. */
  readonly at: string;
}

/** Decision about a corporate action. */
export interface ActionFacts {
  readonly kind: 'action';
  /** The data store. */
  readonly store_id: string;
  /** Id of the corporate action. */
  readonly action_id: string;
  /** Decision about the action. */
  readonly decision: 'confirmed' | 'rejected' | 'reopened';
  /** Terms of the action. */
  readonly terms: ActionTerms;
  /** Values of other sources. */
  readonly sources: readonly ActionSource[];
  /** Differences between the store and these sources. */
  readonly differences: readonly string[];
  /** Effect on each index with a run that holds the security. */
  readonly effects: readonly DeskActionEffect[];
}

export interface ActionSource {
  /** Source, such as the notice of the issuer. */
  readonly name: string;
  /** Value in this source; null if it has none. */
  readonly value: number | null;
  /** Ex-date in this source; null if it has none. */
  readonly ex_date: string | null;
}

export interface ActionSourceInput {
  /** Source, such as the notice of the issuer. */
  readonly name: string;
  /** Value in this source; null if it has none. */
  readonly value?: number | null | undefined;
  /** Ex-date in this source; null if it has none. */
  readonly ex_date?: string | null | undefined;
}

export interface ActionTerms {
  /** Asset identifier. */
  readonly identifier: string;
  /** Type of the action. */
  readonly type: 'DIVIDEND' | 'SPECIAL_DIVIDEND' | 'RETURN_OF_CAPITAL' | 'SPLIT' | 'STOCK_DIVIDEND' | 'BONUS_ISSUE' | 'RIGHTS_ISSUE' | 'SPIN_OFF' | 'MERGER' | 'ACQUISITION' | 'DELISTING' | 'TICKER_CHANGE';
  /** First day without the entitlement. */
  readonly ex_date: string;
  /** Value as in the store: an amount per share, a multiplier or a ratio, depending on the type. */
  readonly value: number;
  /** Null: unknown. */
  readonly pay_date: string | null;
  /** Other identifier of a spin-off, merger or ticker change. */
  readonly related: string | null;
  /** Price of a new share in a rights issue. */
  readonly subscription_price: number | null;
  /** Cash that a merger pays per share in addition to shares. */
  readonly cash: number | null;
}

/** The dates of corporate actions of constituents are plausible: ex-dates are sessions, announcements are before the ex-date, and payments are after it. */
export interface ActionsCheck {
  readonly check: 'actions';
  /** Findings block the index (block), or are only reported (warn). Default: warn. */
  readonly severity: 'block' | 'warn';
  /** Number of calendar days after the session that are checked. */
  readonly days_ahead: number;
}

/** The dates of corporate actions of constituents are plausible: ex-dates are sessions, announcements are before the ex-date, and payments are after it. */
export interface ActionsCheckInput {
  readonly check: 'actions';
  /** Findings block the index (block), or are only reported (warn). Default: warn. */
  readonly severity?: 'block' | 'warn' | undefined;
  /** Number of calendar days after the session that are checked. */
  readonly days_ahead?: number | undefined;
}

export interface ActionsView {
  /** Version of the index or strategy; null for runs that were stored before versions existed. */
  readonly index_version: number | null;
  /** Data store on which the run was computed; null for runs that were stored without it. */
  readonly store_id: string | null;
  /** Causes why the run is stale; null if the stored run equals a new run of the request. */
  readonly stale: StaleState | null;
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** Last date of the run. */
  readonly as_of: string;
  /** The last 10,000 actions, sorted by ex-date and security. */
  readonly actions: readonly IndexAction[];
  /** Number of actions in the window. */
  readonly actions_total: number;
}

/** Each active weight (weight less index weight) is between two bounds. */
export interface ActiveBoundsParams {
  /** Smallest active weight. Unit: fraction. */
  readonly lower: number;
  /** Largest active weight. Unit: fraction. */
  readonly upper: number;
  /** Securities of the constraint. Default: all securities. */
  readonly identifiers?: readonly string[] | null | undefined;
  /** Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated. */
  readonly soft?: number | null | undefined;
  /** Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy. */
  readonly priority?: number | undefined;
}

export interface ActiveBoundsRow {
  readonly type: 'ActiveBounds';
  /** Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position. */
  readonly id?: string | undefined;
  /** Parameters of the type, by name. */
  readonly params?: ActiveBoundsParams | undefined;
}

/** The active weight of each group (weight less index weight) is between two bounds. */
export interface ActiveGroupBoundsParams {
  /** Reference column of the groups. */
  readonly field: string;
  /** Groups of the constraint. Default: every group. */
  readonly groups?: readonly string[] | null | undefined;
  /** Smallest active weight of a group. Unit: fraction. */
  readonly lower: number;
  /** Largest active weight of a group. Unit: fraction. */
  readonly upper: number;
  /** Limit of groups with a small index weight: a multiple of the index weight instead of `upper`. Default: no such limit. */
  readonly small_group?: SmallGroup | null | undefined;
  /** Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated. */
  readonly soft?: number | null | undefined;
  /** Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy. */
  readonly priority?: number | undefined;
}

export interface ActiveGroupBoundsRow {
  readonly type: 'ActiveGroupBounds';
  /** Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position. */
  readonly id?: string | undefined;
  /** Parameters of the type, by name. */
  readonly params?: ActiveGroupBoundsParams | undefined;
}

export interface ActiveRiskPayload {
  /** Benchmark of the comparison; null if there is none. */
  readonly benchmark: string;
  /** Annualised tracking error. The active weights of the covered securities are scaled to the gross active weight of all securities. */
  readonly tracking_error: number;
  /** Fraction of the gross active weight with an estimate. */
  readonly covered_weight: number;
  /** Contributions of securities that only the benchmark holds. */
  readonly contributions_not_held: Readonly<Record<string, number>>;
  /** Stored risk model; null for a model estimated over the window of the run. */
  readonly risk_model: string | null;
  /** Requested estimator; null for the sample covariance or a stored model. */
  readonly risk_estimator: 'shrinkage' | 'nonlinear' | 'gerber' | 'denoised' | 'newey_west' | 'statistical' | 'industries' | 'styles' | null;
  /** Securities without an estimate. */
  readonly uncovered: readonly string[];
  /** First date of the levels of the run. The estimation period begins on this date. */
  readonly window_start: string | null;
  /** Last date of the levels of the run. */
  readonly window_end: string | null;
  /** Number of sessions with a return of every covered security, from which the risk is estimated; null for a stored model. */
  readonly observations: number | null;
}

/** The active share (half the sum of absolute active weights) is at most a limit. */
export interface ActiveShareParams {
  /** Largest active share. Unit: fraction. */
  readonly limit: number;
  /** Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated. */
  readonly soft?: number | null | undefined;
  /** Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy. */
  readonly priority?: number | undefined;
}

export interface ActiveShareRow {
  readonly type: 'ActiveShare';
  /** Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position. */
  readonly id?: string | undefined;
  /** Parameters of the type, by name. */
  readonly params?: ActiveShareParams | undefined;
}

/** Proposed adjustment, and its reason. */
export interface AdjustmentChoice {
  /** Price basis of CLOSE: as traded, divided by later splits, or by splits and dividends. */
  readonly adjustment: 'none' | 'splits' | 'total';
  /** Reason for the choice. */
  readonly reason: string;
  /** Alternatives. */
  readonly others: readonly OtherAdjustment[];
}

export interface AffectedIndex {
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** Weight at the close before the ex-date; for a coming action, on the last date of the run. */
  readonly weight: number;
}

/** True if every operand is true. */
export interface AllNode {
  readonly node: 'all';
  /** Nodes in any order. */
  readonly operands: readonly ExpressionNode[];
  /** Canonical text of the tree, at its root; ignored in requests. */
  readonly text?: string | undefined;
}

/** True if every operand is true. */
export interface AllNodeInput {
  readonly node: 'all';
  /** Nodes in any order. */
  readonly operands: readonly ExpressionNodeInput[];
  /** Canonical text of the tree, at its root; ignored in requests. */
  readonly text?: string | undefined;
}

/** Change of a definition with published closes. */
export interface AmendFacts {
  readonly kind: 'amend';
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** True for a deletion of the index. */
  readonly deletes: boolean;
  /** Change of the whole history, followed by amendments by date. */
  readonly changes: readonly DefinitionChange[];
}

export interface Amendment {
  /** The new version applies from the first review on or after this date. Earlier reviews use the previous version. */
  readonly effective_from: string;
  /** Date on which clients were informed. */
  readonly announced?: string | undefined;
  /** Free text. */
  readonly reason?: string | undefined;
  /** True rebalances on the first session on or after the date, instead of at the next review. */
  readonly rebalance?: boolean | undefined;
  /** JSON merge patch (RFC 7396) of the document. It can change the members universe, rebalance, reviews, pipeline, derivation, overlay, events, rounding. Arrays are replaced as a whole. */
  readonly changes: Readonly<Record<string, unknown>>;
}

export interface AnnouncedDividend {
  /** First day without the entitlement. */
  readonly ex_date: string;
  /** Asset identifier. */
  readonly identifier: string;
  /** Per share, in the currency of the security. */
  readonly dividend: number;
  /** Index points; negative if short positions pay more than long positions receive. */
  readonly points: number;
  /** Points after withholding tax, as reinvested by a net return index. */
  readonly net_points: number;
  /** State of the action; null if the store has none. */
  readonly status: 'announced' | 'paid' | 'cancelled' | null;
  /** Day of the announcement; null if unknown. */
  readonly announced: string | null;
}

/** Announced dividends after as_of, as known on as_of, for the holdings, prices and exchange rates of as_of. */
export interface AnnouncedDividends {
  /** The first 10,000 dividends, sorted by ex-date and security. */
  readonly dividends: readonly AnnouncedDividend[];
  /** Number of announced dividends. */
  readonly dividends_total: number;
  /** Index points; negative if short positions pay more than long positions receive. */
  readonly points: number;
  /** Points after withholding tax, as reinvested by a net return index. */
  readonly net_points: number;
  /** Points divided by the level on as_of. */
  readonly yield: number;
}

/** True if at least one operand is true. */
export interface AnyNode {
  readonly node: 'any';
  /** Nodes in any order. */
  readonly operands: readonly ExpressionNode[];
  /** Canonical text of the tree, at its root; ignored in requests. */
  readonly text?: string | undefined;
}

/** True if at least one operand is true. */
export interface AnyNodeInput {
  readonly node: 'any';
  /** Nodes in any order. */
  readonly operands: readonly ExpressionNodeInput[];
  /** Canonical text of the tree, at its root; ignored in requests. */
  readonly text?: string | undefined;
}

/** Request for the approval of a second person. */
export interface Approval {
  /** Number, from 1 without gaps. */
  readonly approval_id: number;
  /** Requested change. */
  readonly action: 'publish' | 'restate' | 'amend' | 'action' | 'override' | 'waive';
  /** Id of the index, schedule or data store concerned. */
  readonly subject: string;
  /** State of the approval. */
  readonly state: 'pending' | 'approved' | 'used' | 'rejected' | 'withdrawn' | 'expired';
  /** Description of the change in a sentence. */
  readonly summary: string;
  /** Facts for the decision, by kind. Null for requests of earlier versions that do not store them. */
  readonly facts: PublishFacts | RestateFacts | AmendFacts | ActionFacts | OverrideFacts | WaiveFacts | null;
  /** Members of `facts`. They have no fixed form. */
  readonly detail: Readonly<Record<string, unknown>>;
  /** Day of the schedule that requests the change; null for a request of a person. */
  readonly schedule_day: RequestingDay | null;
  /** SHA-256 of the approved content. A change with different content needs another approval. */
  readonly digest: string;
  /** Time of the request. */
  readonly requested_at: string;
  /** Name of the key of the request. */
  readonly requested_by: string;
  /** Time after which the request can no longer be approved or used. */
  readonly expires_at: string;
  /** Number of people who must agree, including the requester. */
  readonly persons: number;
  /** Number of people who have not agreed yet. */
  readonly missing: number;
  /** Request, comments and decisions, in order. */
  readonly history: readonly ApprovalStep[];
}

export interface ApprovalCollection {
  /** Changes that need approval (`--approvals`). */
  readonly rules: readonly ApprovalRule[];
  /** Newest first. */
  readonly approvals: readonly Approval[];
}

export interface ApprovalDecisionRequest {
  /** Decision about the request. Only the person who requested the change can use `withdraw`. */
  readonly decision: 'approve' | 'reject' | 'withdraw' | 'comment';
  /** Comment; required for a rejection. */
  readonly comment?: string | null | undefined;
}

export interface ApprovalRule {
  /** Change. */
  readonly action: 'publish' | 'restate' | 'amend' | 'action' | 'override' | 'waive';
  /** Number of people who must agree, including the requester. */
  readonly persons: number;
  /** Names or ids of keys that can approve; null for every key with the scope. */
  readonly approvers: readonly string[] | null;
}

export interface ApprovalStep {
  /** Time, ISO-8601 UTC with offset. */
  readonly at: string;
  /** Name of the key; `local` without authentication. */
  readonly author: string;
  /** Id of the key; null without authentication. */
  readonly key_id: string | null;
  /** Action taken. */
  readonly action: 'requested' | 'approved' | 'rejected' | 'withdrawn' | 'commented' | 'used';
  /** Comment; null if there is none. */
  readonly comment: string | null;
}

export interface ApprovedClose {
  /** The date. */
  readonly date: string;
  /** Price return level; null if there is none. */
  readonly price: number | null;
  /** Total return level; null if there is none. */
  readonly total: number | null;
  /** Net return level; null if there is none. */
  readonly net: number | null;
}

export interface ApprovedLevels {
  /** Price return level; null if there is none. */
  readonly price: number | null;
  /** Total return level; null if there is none. */
  readonly total: number | null;
  /** Net return level; null if there is none. */
  readonly net: number | null;
}

/** Operands from left to right; a single operand of - is negated. */
export interface ArithmeticNode {
  readonly node: 'arithmetic';
  /** Operator between the operands. ^ is a power. */
  readonly operator: '+' | '-' | '*' | '/' | '^';
  /** Operands, in order. */
  readonly operands: readonly ExpressionNode[];
  /** Canonical text of the tree, at its root; ignored in requests. */
  readonly text?: string | undefined;
}

/** Operands from left to right; a single operand of - is negated. */
export interface ArithmeticNodeInput {
  readonly node: 'arithmetic';
  /** Operator between the operands. ^ is a power. */
  readonly operator: '+' | '-' | '*' | '/' | '^';
  /** Operands, in order. */
  readonly operands: readonly ExpressionNodeInput[];
  /** Canonical text of the tree, at its root; ignored in requests. */
  readonly text?: string | undefined;
}

export interface AssetView {
  /** Version of the index or strategy; null for runs that were stored before versions existed. */
  readonly index_version: number | null;
  /** Data store on which the run was computed; null for runs that were stored without it. */
  readonly store_id: string | null;
  /** Causes why the run is stale; null if the stored run equals a new run of the request. */
  readonly stale: StaleState | null;
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** Asset identifier. */
  readonly identifier: string;
  /** Covariance of the returns with the returns of the reference, divided by the variance of the returns of the reference. */
  readonly beta: number;
  /** Correlation of the returns. */
  readonly correlation: number;
  /** Return less the return of the reference. */
  readonly excess_return: number;
  /** Return of the run over the same dates. */
  readonly index_return: number;
  /** Last level divided by the first, less 1. */
  readonly total_return: number;
  /** Annualised standard deviation of return differences. */
  readonly tracking_error: number;
  /** Number of dates used. */
  readonly observations: number;
  /** Rebalances at which the run held the security. */
  readonly rebalances_held: number;
  /** CLOSE on the dates of the run. */
  readonly price: SeriesPayload;
  /** Applied weight on each rebalance date on which the run held the security. */
  readonly weight_history: Readonly<Record<string, number>>;
  /** Weight before capping, on the same dates. */
  readonly raw_weight_history: Readonly<Record<string, number>>;
}

export interface AttributionView {
  /** Version of the index or strategy; null for runs that were stored before versions existed. */
  readonly index_version: number | null;
  /** Data store on which the run was computed; null for runs that were stored without it. */
  readonly store_id: string | null;
  /** Causes why the run is stale; null if the stored run equals a new run of the request. */
  readonly stale: StaleState | null;
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** Securities and the parts of an overlay, sorted by contribution (largest first) and identifier. They sum to total_return. The asset_id of a part is overlay/{index_id}/{part}; its weight and return are 0. */
  readonly contributions: readonly ContributionPayload[];
  /** Sum of the contributions of securities: total_return, or for an overlay total_return less overlay_parts_sum. */
  readonly contributions_sum: number;
  /** Sum of overlay_parts. The sum of contributions_sum and overlay_parts_sum is total_return. Null if there are no parts. */
  readonly overlay_parts_sum: number | null;
  /** Returns of an overlay that do not come from its constituents, which are also in contributions. Null for other indices. */
  readonly overlay_parts: readonly OverlayPart[] | null;
  /** Last level divided by the first, less 1. */
  readonly total_return: number;
  /** Number of periods. */
  readonly periods: number;
  /** True if the residual is within its tolerance. */
  readonly reconciles: boolean;
  /** Residual, which contains only rounding errors. */
  readonly residual: number;
  /** Return of the index less the return of the same index without its cap; null if there is no cap. */
  readonly cap_drag: number | null;
  /** Effect of transaction costs; null without costs. */
  readonly cost_drag: number | null;
  /** Requested value; the first date of the run if omitted. */
  readonly requested_start: string | null;
  /** Requested value; the last date of the run if omitted. */
  readonly requested_end: string | null;
  /** End of the first complete period, which is the session after the first date of the window. A full timestamp. */
  readonly start: string;
  /** Latest date of the run on or before the requested end. A full timestamp. */
  readonly end: string;
}

export interface AuditEntry {
  /** Number, from 1 without gaps. */
  readonly seq: number;
  /** Time of the write, ISO-8601 UTC with offset. */
  readonly at: string;
  /** Name of the key; for the result of a job, name of the key that started it; `local` without authentication. */
  readonly author: string;
  /** Id of the key, or `sub:` and the subject of the token; absent without authentication. */
  readonly key_id?: string | undefined;
  /** Id of the request; empty for a write of the service itself. */
  readonly request_id: string;
  /** Note from the header X-Change-Note. */
  readonly note: string | null;
  /** Action on the document. */
  readonly action: 'created' | 'updated' | 'restored' | 'deleted' | 'purged' | 'loaded' | 'activated' | 'cancelled' | 'refused' | 'read';
  /** Kind of the document, or of the other subject. */
  readonly kind: 'index' | 'strategy' | 'constraint-set' | 'template' | 'watchlist' | 'plugin' | 'store' | 'closures' | 'schedule' | 'procedure' | 'client' | 'judgement' | 'action-decision' | 'approval' | 'paused-kind' | 'run' | 'optimisation-run' | 'risk-model' | 'render' | 'publication' | 'publication-error' | 'data-version' | 'signing-key' | 'key' | 'job' | 'authentication' | 'read';
  /** Id of the subject. For a run, the id of the index; for a publication with a number and for a data version, the id of the index or store. For a refused key, its address; for a read, the path. */
  readonly id: string;
  /** Id of the run; absent for other kinds. */
  readonly run_id?: string | undefined;
  /** Version that the write created; null for kinds without versions. */
  readonly version: number | null;
  /** SHA-256 of the written content; null for a deletion. */
  readonly etag: string | null;
  /** Hash of the previous entry; 64 zeros in the first. */
  readonly previous: string;
  /** SHA-256 of the canonical JSON of the entry without hash. */
  readonly hash: string;
}

export interface AuditHead {
  /** Number of the last entry; 0 for an empty log. */
  readonly seq: number;
  /** Hash of the last entry. */
  readonly hash: string;
}

export interface AuditLog {
  /** Position and hash of the last entry. Record them outside the service. */
  readonly head: AuditHead;
  /** Signatures of the log after `after`. Each request for the log signs it up to its end. */
  readonly seals: readonly AuditSeal[];
  /** Keys of the signatures, oldest first. */
  readonly keys: readonly PublicKey[];
  /** Number of stored documents that are omitted because they cannot be read. */
  readonly skipped: number;
  /** Number of omitted documents by cause. */
  readonly skipped_causes: SkippedCauses;
  /** Entries, in the order of the log. */
  readonly entries: readonly AuditEntry[];
}

export interface AuditSeal {
  /** Number of the last entry that the seal covers. */
  readonly seq: number;
  /** Hash of that entry, which depends on all earlier entries. */
  readonly entry_hash: string;
  /** Hash of the previous seal; 64 zeros in the first seal; absent in seals of earlier versions, which were not chained. */
  readonly previous?: string | undefined;
  /** Time of the signature, ISO-8601 UTC with offset. */
  readonly at: string;
  /** SHA-256 of the canonical JSON of the seal without hash and signature. */
  readonly hash: string;
  /** Key of the signature, as for published logs. */
  readonly key_id: string;
  /** Ed25519 signature of the 32 bytes of hash, in base64. */
  readonly signature: string;
}

export interface BackfilledDays {
  /** Sessions whose days are performed. */
  readonly dates: readonly string[];
}

export interface BacktestBatch {
  /** One entry for each id, in the order of the request. */
  readonly backtests: readonly BacktestBatchEntry[];
  /** Number of entries with a job. */
  readonly queued: number;
  /** Number of entries with a stored run that is current. */
  readonly current: number;
  /** Number of entries with an error. */
  readonly refused: number;
}

export interface BacktestBatchEntry {
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** `queued`: a job runs the backtest. `current` (with `if_stale`): the stored run equals a new run of the request. `refused`: see `error`. */
  readonly outcome: 'queued' | 'current' | 'refused';
  /** Job of the entry; only if it is queued. */
  readonly job: BacktestJobStatus | null;
  /** Error of the backtest of this id; only if it is refused. */
  readonly error: ErrorDetail | null;
}

/** The settings apply to every id, as in a single backtest. With `if_stale`, omitted settings have the values of the stored run of each id. */
export interface BacktestBatchRequest {
  /** Benchmark: a second comparison in addition to the tracked index. Identifier (for example `identifier:SPX`), or an object that names another column than CLOSE. */
  readonly benchmark?: BenchmarkRefInput | string | null | undefined;
  /** First day. Default: the base date of the index. Earlier days are not possible. */
  readonly start?: string | null | undefined;
  /** Last day. Default: the last day of the data. */
  readonly end?: string | null | undefined;
  /** Initial value of the portfolio, in the index currency. */
  readonly initial_capital?: number | undefined;
  /** Cost of a trade in basis points of its notional. */
  readonly transaction_cost_bps?: number | undefined;
  /** Version of the data: a number, or the newest version known at a time (for a date: its end, in UTC). */
  readonly as_known_on?: number | string | undefined;
  /** Each rebalance uses the newest version of the data known at the end of its decision date. Levels are computed from the data of the run. */
  readonly as_known?: 'decision' | undefined;
  /** Data store of the run, for an index without a store. Default: the active store. */
  readonly store_id?: string | undefined;
  /** Run only if the stored run is stale for this request; otherwise return its result. Omitted fields have the values of the stored run. */
  readonly if_stale?: boolean | undefined;
  /** Indices and strategies, at most 500. Duplicates are counted once. */
  readonly ids: readonly string[];
}

export interface BacktestJobStatus {
  /** {kind}:{id}, for example backtest:LARGE-100. */
  readonly job_id: string;
  readonly kind: 'backtest';
  /** Order in which waiting jobs start. */
  readonly priority: 'high' | 'normal' | 'low';
  /** pending -> running -> succeeded, failed or cancelled. Terminal states never change. */
  readonly status: 'pending' | 'running' | 'succeeded' | 'failed' | 'cancelled';
  /** Completed fraction: 0 while pending, exactly 1 after success. It never decreases during an attempt. */
  readonly progress: number;
  /** Current step. */
  readonly message: string;
  /** Error of the job; only if it failed. */
  readonly error: ErrorDetail | null;
  /** Time of the submission, ISO-8601 UTC with offset. */
  readonly created_at: string;
  /** Start of the current attempt. */
  readonly started_at: string | null;
  /** Time of the end, ISO-8601 UTC with offset; null while it has not ended. */
  readonly finished_at: string | null;
  /** Time of the last heartbeat of the running attempt. */
  readonly heartbeat_at: string | null;
  /** Number of starts, which is recorded before the work starts. */
  readonly attempt: number;
  /** Latest attempts in order, at most eleven. The last one is the current attempt. */
  readonly attempts: readonly JobAttempt[];
  /** Request body as it was accepted. */
  readonly request: unknown;
  /** SHA-256 of all inputs except the market. */
  readonly input_hash: string;
  /** X-Request-Id of the submission, which log lines of the job contain. Null if the service submitted the job. */
  readonly request_id: string | null;
  /** Trace of the submission, from its header traceparent. */
  readonly trace_id: string | null;
  /** Addresses that are notified when the job ends. */
  readonly callbacks: readonly JobCallback[];
  /** Result of the job, if it succeeded. Null if the run of a backtest was deleted. */
  readonly result: BacktestRunResult | null;
}

export interface BacktestMetrics {
  /** (1 + total_return)^(y / n) - 1, where y is the number of sessions per year: 252, or 365 if the calendar trades every day. A fraction. */
  readonly annualised_return: number;
  /** Lowest drawdown, at most 0. A fraction. */
  readonly max_drawdown: number;
  /** Mean return x sessions per year / volatility, with a risk-free rate of 0; 0 without volatility. */
  readonly sharpe_ratio: number;
  /** Last level divided by the first, less 1. A fraction. */
  readonly total_return: number;
  /** total_return less the total return of the tracked index; null if the index is measured. */
  readonly tracking_difference: number | null;
  /** Annualised standard deviation of the return differences to the tracked index; null if the index is measured. */
  readonly tracking_error: number | null;
  /** Annualised standard deviation of returns. A fraction. */
  readonly volatility: number;
}

export interface BacktestRecordCollection {
  /** Stored records by id. */
  readonly backtests: readonly BacktestRecordRow[];
  /** Number of stored documents that are omitted because they cannot be read. */
  readonly skipped: number;
  /** Number of omitted documents by cause. */
  readonly skipped_causes: SkippedCauses;
}

export interface BacktestRecordRow {
  /** Version of the index or strategy; null for runs that were stored before versions existed. */
  readonly index_version: number | null;
  /** Data store on which the run was computed; null for runs that were stored without it. */
  readonly store_id: string | null;
  /** Causes why the run is stale; null if the stored run equals a new run of the request. */
  readonly stale: StaleState | null;
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** Time of the run, ISO-8601 UTC with offset. */
  readonly run_at: string | null;
}

/** Default of an omitted field. With `if_stale`, the value of the stored run; otherwise the value of the strategy, if one is run; otherwise the default of the field. */
export interface BacktestRequest {
  /** Benchmark: a second comparison in addition to the tracked index. Identifier (for example `identifier:SPX`), or an object that names another column than CLOSE. */
  readonly benchmark?: BenchmarkRefInput | string | null | undefined;
  /** First day. Default: the base date of the index. Earlier days are not possible. */
  readonly start?: string | null | undefined;
  /** Last day. Default: the last day of the data. */
  readonly end?: string | null | undefined;
  /** Initial value of the portfolio, in the index currency. */
  readonly initial_capital?: number | undefined;
  /** Cost of a trade in basis points of its notional. */
  readonly transaction_cost_bps?: number | undefined;
  /** Version of the data: a number, or the newest version known at a time (for a date: its end, in UTC). */
  readonly as_known_on?: number | string | undefined;
  /** Each rebalance uses the newest version of the data known at the end of its decision date. Levels are computed from the data of the run. */
  readonly as_known?: 'decision' | undefined;
  /** Data store of the run, for an index without a store. Default: the active store. */
  readonly store_id?: string | undefined;
  /** Run only if the stored run is stale for this request; otherwise return its result. Omitted fields have the values of the stored run. */
  readonly if_stale?: boolean | undefined;
}

export interface BacktestResultSummary {
  /** Version of the index or strategy; null for runs that were stored before versions existed. */
  readonly index_version: number | null;
  /** Data store on which the run was computed; null for runs that were stored without it. */
  readonly store_id: string | null;
  /** Causes why the run is stale; null if the stored run equals a new run of the request. */
  readonly stale: StaleState | null;
  /** Benchmark of the comparison; null if there is none. */
  readonly benchmark: BookPayload | null;
  /** Series of the index: target and optimised. */
  readonly index: IndexBooksPayload;
  /** Figures of the run. */
  readonly metrics: BacktestMetrics;
  /** Simulated portfolio. */
  readonly portfolio: PortfolioBookPayload;
  /** Days on which a holding or target had no bar although its exchange was open. */
  readonly price_gaps: readonly PriceGapPayload[];
  /** For each rebalance, the session of the prices of its trades. */
  readonly rebalance_pricing: readonly RebalancePricingPayload[];
  /** Time of the run, ISO-8601 UTC with offset. */
  readonly run_at: string | null;
  /** Orders that could not be filled on their day. */
  readonly unfilled: readonly UnfilledOrderPayload[];
  /** Warnings of the run. */
  readonly findings: readonly Finding[];
  /** SHA-256 of the engine version, the definitions, the request, and the content and declarations (price basis, currency) of the store. Equal hashes mean equal results. */
  readonly run_hash: string;
  /** SHA-256 of the data that was read. */
  readonly store_content_hash: string;
  /** Version of the engine that computed the result. */
  readonly engine_version: string;
  /** Last date of the stored run that this run extends; its numbers equal those of a full run. Null for a full run. */
  readonly extended_from: string | null;
  /** Reason why a stored run was not extended. Null if it was extended, or if there was no stored run. Runs stored by earlier builds have `parted` for `holdings_diverged` and `rewritten` for `file_rewritten`. */
  readonly full_run_reason: 'definition_changed' | 'request_changed' | 'no_checkpoint' | 'names_changed' | 'history_changed' | 'no_new_session' | 'rebalance' | 'new_name' | 'holdings_diverged' | 'breach' | 'member_change' | 'default_changed' | 'overlay' | 'file_rewritten' | 'parted' | 'rewritten' | null;
}

export interface BacktestRunResult {
  /** Return of each calendar year. The returns compound to the total return. */
  readonly annual_returns: Readonly<Record<string, number>>;
  /** Benchmark of the comparison; null if there is none. */
  readonly benchmark: RelativeMetricsPayload | null;
  /** Level relative to its running peak, less 1; 0 at a high. */
  readonly drawdown: SeriesPayload;
  /** Level of the tracked index, rebased to 100 on the same dates. */
  readonly index_level: SeriesPayload;
  /** Version of the index or strategy. Null if it has none; absent in results of earlier versions. */
  readonly index_version?: number | null | undefined;
  /** Initial capital of the portfolio. */
  readonly initial_capital: number;
  /** Level, 100 at the start. */
  readonly level: SeriesPayload;
  /** Figures of the run. */
  readonly metrics: BacktestMetrics;
  /** Days on which a holding or target had no bar although its exchange was open. */
  readonly price_gaps: readonly PriceGapPayload[];
  /** For each rebalance, the session of the prices of its trades. */
  readonly rebalance_pricing: readonly RebalancePricingPayload[];
  /** Compositions of the run, beginning with the composition in force at the start. */
  readonly rebalances: readonly RebalanceSnapshot[];
  /** Total number of compositions. It exceeds the number of returned compositions only if the weights exceed the maximum size of a result. */
  readonly rebalances_total: number;
  /** Returns of the level, beginning with the second date. */
  readonly returns: SeriesPayload;
  /** Transaction costs paid. */
  readonly total_costs: number;
  /** Warnings of the run. */
  readonly findings: readonly Finding[];
  /** SHA-256 of the engine version, the definitions, the request, and the content and declarations (price basis, currency) of the store. Equal hashes mean equal results. */
  readonly run_hash: string;
  /** SHA-256 of the data that was read. */
  readonly store_content_hash: string;
  /** Version of the engine that computed the result. */
  readonly engine_version: string;
  /** Last date of the stored run that this run extends; its numbers equal those of a full run. Null for a full run. */
  readonly extended_from: string | null;
  /** Reason why a stored run was not extended. Null if it was extended, or if there was no stored run. Runs stored by earlier builds have `parted` for `holdings_diverged` and `rewritten` for `file_rewritten`. */
  readonly full_run_reason: 'definition_changed' | 'request_changed' | 'no_checkpoint' | 'names_changed' | 'history_changed' | 'no_new_session' | 'rebalance' | 'new_name' | 'holdings_diverged' | 'breach' | 'member_change' | 'default_changed' | 'overlay' | 'file_rewritten' | 'parted' | 'rewritten' | null;
}

export interface BarChartBlock {
  readonly kind: 'bar_chart';
  /** Title that is printed above the block. */
  readonly title: string | null;
  /** Index (or strategy) whose latest run the block shows. */
  readonly index_id: string | null;
  /** Width of the block. Two consecutive half blocks are placed next to each other. */
  readonly width: 'full' | 'half';
  /** Source of the bars. `annual_returns`: return of each calendar year; `top_weights`: largest weights on the last date; `sector_weights`: weight of each sector on the last date, beginning with the largest; `contributions`: largest contributors to the return of the portfolio, followed by the largest detractors; `liquidation`: fraction of a portfolio of `aum` that can be sold within a number of days at a tenth of the daily volume; the portfolio held the index before its latest rebalance; empty for an overlay; `literal`: the values of `values`. */
  readonly source: 'annual_returns' | 'top_weights' | 'sector_weights' | 'contributions' | 'liquidation' | 'literal';
  /** Maximum number of bars, with equal numbers of contributors and detractors. A single further sector is shown; several further sectors are added up. */
  readonly limit: number;
  /** Value of the portfolio that is sold, in the currency of the index. */
  readonly aum: number;
  /** Values by label, for a literal chart. */
  readonly values: Readonly<Record<string, number>> | null;
}

export interface BarChartBlockInput {
  readonly kind: 'bar_chart';
  /** Title that is printed above the block. */
  readonly title?: string | null | undefined;
  /** Index (or strategy) whose latest run the block shows. */
  readonly index_id?: string | null | undefined;
  /** Width of the block. Two consecutive half blocks are placed next to each other. */
  readonly width?: 'full' | 'half' | undefined;
  /** Source of the bars. `annual_returns`: return of each calendar year; `top_weights`: largest weights on the last date; `sector_weights`: weight of each sector on the last date, beginning with the largest; `contributions`: largest contributors to the return of the portfolio, followed by the largest detractors; `liquidation`: fraction of a portfolio of `aum` that can be sold within a number of days at a tenth of the daily volume; the portfolio held the index before its latest rebalance; empty for an overlay; `literal`: the values of `values`. */
  readonly source?: 'annual_returns' | 'top_weights' | 'sector_weights' | 'contributions' | 'liquidation' | 'literal' | undefined;
  /** Maximum number of bars, with equal numbers of contributors and detractors. A single further sector is shown; several further sectors are added up. */
  readonly limit?: number | undefined;
  /** Value of the portfolio that is sold, in the currency of the index. */
  readonly aum?: number | undefined;
  /** Values by label, for a literal chart. */
  readonly values?: Readonly<Record<string, number>> | null | undefined;
}

/** Result of one account. */
export interface BatchAccount {
  /** Id of the account; null if it has none. */
  readonly account_id: string | null;
  /** `optimal`: the gap is at most 1e-8 of the value. `feasible`: the gap is larger. `infeasible`: see `conflicts`. `refused`: see `findings`. */
  readonly status: 'optimal' | 'feasible' | 'infeasible' | 'refused';
  /** Reasons why the account was refused. */
  readonly findings: readonly Finding[];
  /** Sales by lot, and purchases. Empty for an infeasible account. */
  readonly trades?: readonly BatchTrade[] | undefined;
  /** Lots after the trades; null for an account of more than 500 lots. */
  readonly lots_after?: readonly BatchLot[] | null | undefined;
  /** Cash and lots at the prices of the day. */
  readonly value?: number | undefined;
  /** Cash after trades and costs. */
  readonly cash?: number | undefined;
  /** Trading costs. */
  readonly costs?: number | undefined;
  /** Annual tracking error after the trades. */
  readonly tracking_error?: number | undefined;
  /** Annual tracking error before the trades. */
  readonly tracking_error_before?: number | undefined;
  /** Taxed short-term gains of the trades. */
  readonly short_gain?: number | undefined;
  /** Taxed long-term gains of the trades. */
  readonly long_gain?: number | undefined;
  /** Losses that the wash sale rule adds to the basis of other shares; absent in results of earlier versions. */
  readonly disallowed_loss?: number | undefined;
  /** Part of the disallowed losses that is added to shares of `recent` purchases that are not lots of the account. */
  readonly disallowed_elsewhere?: number | undefined;
  /** Tax of the year after the trades, in money. */
  readonly tax?: number | undefined;
  /** Tax saved compared with selling the oldest lots first. */
  readonly tax_saved?: number | undefined;
  /** Conflicting rules of an infeasible account. If any one of them is removed, the others can be satisfied. */
  readonly conflicts?: readonly string[] | undefined;
  /** Amount by which each of these rules must be relaxed if all other rules of the account are satisfied: tracking error, weight (for exclusions, the weight that remains), or money for `tax.budget` and `tax.limit`. Null for rules without an amount, and if no amount is sufficient. */
  readonly conflict_amounts?: Readonly<Record<string, number | null>> | undefined;
  /** Weight of each excluded security that must remain if all other rules are satisfied. */
  readonly conflict_exclusions?: Readonly<Record<string, number>> | undefined;
  /** Proof of the gap, which can be verified without a solver. */
  readonly certificate?: BatchCertificate | undefined;
}

export interface BatchAccounts {
  /** The batch. */
  readonly batch_id: string;
  /** Accounts of all blocks. */
  readonly count: number;
  /** Number of the block, from 0. */
  readonly block: number;
  /** Number of blocks. */
  readonly blocks: number;
  /** Entries, in the order of the request. */
  readonly accounts: readonly BatchAccount[];
}

export interface BatchBranches {
  /** Divisions of the permitted trades, and how the bound of each region is proved, first parts first. */
  readonly steps: readonly ({
    /** Position of the security in the account. */
    readonly security: number;
    /** Largest net trade of the first part, as a weight. */
    readonly below: number;
    /** Smallest net trade of the second part. */
    readonly above: number;
  } | {
    /** Position of the multipliers of the region. */
    readonly multipliers: number;
  } | {
    /** All lots for the only net trades of the region were tried. */
    readonly evaluated: boolean;
  })[];
  /** Multipliers of regions. */
  readonly multipliers: readonly {
    /** Factor exposures of the tangent. */
    readonly exposures: readonly number[];
    /** Multiplier of the tracking error limit. */
    readonly variance: number;
    /** Multipliers of the rows and of the pieces of the tax. */
    readonly rows: readonly number[];
  }[];
}

export interface BatchCertificate {
  /** Objective of the trades, as a fraction of the value. */
  readonly objective: number;
  /** Lower bound of the objective over all permitted trades. */
  readonly bound: number;
  /** Objective less bound; 0 for an infeasible account. */
  readonly gap: number;
  /** Largest violation of a hard constraint. */
  readonly primal_residual: number;
  /** Divisions of the permitted trades where the sale of a lot changes the disallowed losses of others, first parts first; null without a division. Absent in results of earlier versions. */
  readonly regions?: readonly ({
    /** Security whose number of shares sold is divided. */
    readonly identifier: string;
    /** Most shares sold in the first part. */
    readonly below: number;
    /** Least shares sold in the second part. */
    readonly above: number;
  } | {
    /** Position of a lot that is not sold whole in the first part. */
    readonly lot: number;
  } | {
    /** Position of a group of substitutes that is not bought in the first part, and not sold at a loss in the second. */
    readonly substitutes: number;
  } | {
    /** Region with certificates in `sides`. */
    readonly undivided: boolean;
  })[] | null | undefined;
  /** Proofs for net long-term gains and for net long-term losses. */
  readonly sides: readonly ({
    /** Position among the undivided regions. */
    readonly region?: number | undefined;
    /** 0 for the side of net long-term gains, 1 for the side of net long-term losses. */
    readonly side: number;
    /** Bound of this side. */
    readonly bound: number;
    /** Factor exposures of the tangent. */
    readonly exposures: readonly number[];
    /** Multiplier of the tracking error limit. */
    readonly variance: number;
    /** Multipliers of the rows and of the pieces of the tax. */
    readonly rows: readonly number[];
    /** Proof of the bound by branch and bound; null without a search. Absent in results of earlier versions. */
    readonly branches?: BatchBranches | null | undefined;
  })[];
}

export interface BatchCollection {
  /** Batches, newest first. The job of a batch contains the refused accounts. */
  readonly batches: readonly BatchView[];
}

/** Data that all accounts of a batch use, including its terms. */
export interface BatchCommonData {
  /** The resolved date. */
  readonly as_of: string;
  /** Securities that an account can hold, [N]. */
  readonly identifiers: readonly string[];
  /** Prices per share, [N]. */
  readonly prices: readonly number[];
  /** Weights in the parent, [N]. */
  readonly weights: readonly number[];
  /** Number of factors, K. */
  readonly factors: number;
  /** Annualised factor exposures, [N x K]. */
  readonly loadings: readonly number[];
  /** Specific variances, annualised, [N]. */
  readonly specific: readonly number[];
}

export interface BatchJobStatus {
  /** {kind}:{id}, for example backtest:LARGE-100. */
  readonly job_id: string;
  readonly kind: 'batch';
  /** Order in which waiting jobs start. */
  readonly priority: 'high' | 'normal' | 'low';
  /** pending -> running -> succeeded, failed or cancelled. Terminal states never change. */
  readonly status: 'pending' | 'running' | 'succeeded' | 'failed' | 'cancelled';
  /** Completed fraction: 0 while pending, exactly 1 after success. It never decreases during an attempt. */
  readonly progress: number;
  /** Current step. */
  readonly message: string;
  /** Error of the job; only if it failed. */
  readonly error: ErrorDetail | null;
  /** Time of the submission, ISO-8601 UTC with offset. */
  readonly created_at: string;
  /** Start of the current attempt. */
  readonly started_at: string | null;
  /** Time of the end, ISO-8601 UTC with offset; null while it has not ended. */
  readonly finished_at: string | null;
  /** Time of the last heartbeat of the running attempt. */
  readonly heartbeat_at: string | null;
  /** Number of starts, which is recorded before the work starts. */
  readonly attempt: number;
  /** Latest attempts in order, at most eleven. The last one is the current attempt. */
  readonly attempts: readonly JobAttempt[];
  /** Request body as it was accepted. */
  readonly request: unknown;
  /** SHA-256 of all inputs except the market. */
  readonly input_hash: string;
  /** X-Request-Id of the submission, which log lines of the job contain. Null if the service submitted the job. */
  readonly request_id: string | null;
  /** Trace of the submission, from its header traceparent. */
  readonly trace_id: string | null;
  /** Addresses that are notified when the job ends. */
  readonly callbacks: readonly JobCallback[];
  /** Result of the job, if it succeeded. Null if the run of a backtest was deleted. */
  readonly result: BatchView | null;
}

export interface BatchLot {
  /** Position of the lot in the account; null for a purchase. */
  readonly lot: number | null;
  /** Asset identifier. */
  readonly identifier: string;
  /** Number of shares. */
  readonly shares: number;
  /** Cost basis per share, including disallowed losses. */
  readonly cost: number;
  /** Day of the purchase. With `bought`, the day before the holding period begins. */
  readonly acquired: string;
  /** Day of the purchase of shares that have replaced shares sold at a loss; absent for other lots. */
  readonly bought?: string | undefined;
  /** Value less cost. */
  readonly unrealised_gain: number;
}

export interface BatchObjective {
  /** Penalty of the annual tracking variance, as a fraction of the value. */
  readonly risk_aversion?: number | undefined;
  /** Cost of a trade in basis points. */
  readonly cost_bps?: number | undefined;
  /** Minimum weight of cash after the trades. */
  readonly cash_minimum?: number | undefined;
  /** Maximum weight of cash after the trades. */
  readonly cash_maximum?: number | undefined;
}

export interface BatchReferenceResponse {
  /** One entry per requested identifier, in the order of the request. */
  readonly entries: readonly ReferenceEntry[];
  /** Point-in-time date that was applied, if one was requested. */
  readonly as_of: string | null;
}

export interface BatchRequest {
  /** Id of the result. Default: a generated id. */
  readonly batch_id?: string | null | undefined;
  /** Index that the accounts follow. */
  readonly parent: string;
  /** Stored factor model. */
  readonly risk_model: string;
  /** Objective: an object with a type of `/optimise/objective-types` and its parameters, or only the type. A derived index accepts only the type `min_tracking_error` without an object. */
  readonly objective?: BatchObjective | undefined;
  /** Constraints. Without constraints, weights are long-only and add up to 1. */
  readonly constraints?: readonly BatchRow[] | undefined;
  /** True limits trades to whole shares. */
  readonly whole_shares?: boolean | undefined;
  /** Default: the last session of the data. */
  readonly as_of?: string | null | undefined;
  /** Maximum number of branches per account if rounding leaves a gap; 0 turns the search off. */
  readonly search_nodes?: number | undefined;
  /** Values of the fields that an account omits; `tax` field by field. */
  readonly defaults?: AccountDefaults | undefined;
  /** Accounts. An invalid account has findings in its result, and all other accounts are solved. */
  readonly accounts: readonly unknown[];
}

export type BatchRow = {
  readonly type: 'PositionBounds';
  /** Name of the constraint in results. Default: its position. */
  readonly id?: string | undefined;
  /** Parameters of the type, by name. */
  readonly params: {
    /** Smallest weight. */
    readonly lower?: number | undefined;
    /** Largest weight. */
    readonly upper?: number | undefined;
  };
} | {
  readonly type: 'GroupBounds';
  /** Name of the constraint in results. Default: its position. */
  readonly id?: string | undefined;
  /** Parameters of the type, by name. */
  readonly params: {
    /** Reference field. */
    readonly field: string;
    /** Smallest weight. */
    readonly lower?: number | undefined;
    /** Largest weight. */
    readonly upper?: number | undefined;
    /** Penalty per unit of violation, as a fraction of the value. Without it, the constraint cannot be violated. */
    readonly penalty?: number | undefined;
  };
} | {
  readonly type: 'ActiveGroupBounds';
  /** Name of the constraint in results. Default: its position. */
  readonly id?: string | undefined;
  /** Parameters of the type, by name. */
  readonly params: {
    /** Reference field. */
    readonly field: string;
    /** Smallest weight. */
    readonly lower?: number | undefined;
    /** Largest weight. */
    readonly upper?: number | undefined;
    /** Penalty per unit of violation, as a fraction of the value. Without it, the constraint cannot be violated. */
    readonly penalty?: number | undefined;
  };
};

export interface BatchTrade {
  /** Asset identifier. */
  readonly identifier: string;
  /** Direction of the trade. */
  readonly side: 'buy' | 'sell';
  /** Number of shares. */
  readonly shares: number;
  /** Price per share in the currency of the index. */
  readonly price: number;
  /** Shares times price. */
  readonly value: number;
  /** Position of the sold lot in the account. */
  readonly lot?: number | undefined;
  /** `acquired` of the lot. */
  readonly acquired?: string | undefined;
  /** Cost basis per share. */
  readonly cost?: number | undefined;
  /** Realised gain that is taxed; 0 if the loss is disallowed. */
  readonly gain?: number | undefined;
  /** Loss added to the basis of the replacement. A lot of which only a part is disallowed has two sales. */
  readonly disallowed_loss?: number | undefined;
  /** Holding period of the lot. */
  readonly term?: 'short' | 'long' | undefined;
}

export interface BatchView {
  /** The batch. */
  readonly batch_id: string;
  /** Index that the accounts follow. */
  readonly parent: string;
  /** Stored factor model. */
  readonly risk_model: string;
  /** The resolved date. */
  readonly as_of: string;
  /** Accounts of the batch. */
  readonly accounts: number;
  /** Accounts by status. */
  readonly by_status: Readonly<Record<string, number>>;
  /** Percentiles of the annual tracking error after the trades: p0, p5, p25, p50, p75, p95, p100. */
  readonly tracking_error: Readonly<Record<string, number>> | null;
  /** Percentiles of the annual tracking error of the same accounts before the trades; absent in results of earlier versions. */
  readonly tracking_error_before?: Readonly<Record<string, number>> | null | undefined;
  /** Largest gap of a certificate, as a fraction of the value. */
  readonly largest_gap: number | null;
  /** Value of the solved accounts. */
  readonly value: number;
  /** Tax of the trades. */
  readonly tax: number;
  /** Tax saved compared with selling the oldest lots first. */
  readonly tax_saved: number;
  /** Trading costs. */
  readonly costs: number;
  /** Trades that the wash sale rule prevented. */
  readonly avoided_wash_sales: number;
  /** Number of infeasible accounts by conflicting rule. */
  readonly conflicts: Readonly<Record<string, number>>;
  /** The first 100 accounts that are invalid. */
  readonly refused: readonly ({
    /** Id of the account; null if it has none. */
    readonly account_id: string | null;
    /** Position in the request, from 0. */
    readonly position: number;
    /** Reasons. */
    readonly findings: readonly Finding[];
  })[];
  /** Blocks of 100 accounts, see GET /optimise/batches/{batch_id}/accounts. */
  readonly blocks: number;
  /** SHA-256 of the data that was read. */
  readonly store_content_hash: string;
  /** Version of the engine that computed the result. */
  readonly engine_version: string;
}

/** Exposure of the benchmark; null if there is none. */
export type BenchmarkFieldExposure = {
  /** Mean of the datapoint, weighted by the holdings. One value per date; null if no holding has a value. */
  readonly mean: readonly (number | null)[];
  /** Fraction of the absolute weights that belongs to securities with a value. One value per date. */
  readonly coverage: readonly number[];
  /** Weighted quantile: the smallest value for which the securities with at most this value have this fraction of the weights. */
  readonly percentiles: WeightedPercentiles;
} | null;

export interface BenchmarkRef {
  /** Index id, or market-data identifier. */
  readonly id: string;
  /** `index`: a stored definition. `identifier`: a security of the market or a series. */
  readonly kind: 'index' | 'identifier';
  /** Column of the market; ignored if kind is `index`. */
  readonly price_column: string;
}

export interface BenchmarkRefInput {
  /** Index id, or market-data identifier. */
  readonly id: string;
  /** `index`: a stored definition. `identifier`: a security of the market or a series. */
  readonly kind: 'index' | 'identifier';
  /** Column of the market; ignored if kind is `index`. */
  readonly price_column?: string | undefined;
}

export interface BenchmarkStatement {
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** Display name. */
  readonly name: string;
  /** Time at which the statement was generated. */
  readonly generated_at: string;
  /** Version of the definition that the statement describes: the version of the last published close. Default: the newest. */
  readonly version: number | null;
  /** Newest version of the definition. It is not published if it differs from `version`. */
  readonly latest_version: number | null;
  /** Description of the index: the market that it measures. */
  readonly purpose: string | null;
  /** The definition in sentences. */
  readonly methodology: readonly string[];
  /** Calendar of the index. */
  readonly calendar: {
    /** Exchange whose sessions determine the closes. */
    readonly code: string;
    /** Last day whose closures come from a published list. */
    readonly covered_to: string | null;
  };
  /** Input data. */
  readonly inputs: {
    /** Underlying indices. */
    readonly indices: readonly string[];
    /** Price basis of the served store; null if no store is served. */
    readonly adjustment: string | null;
    /** Data that the index uses, in order of preference. */
    readonly hierarchy: readonly string[];
  };
  /** Discretion of the administrator, with records of its use. */
  readonly discretion: {
    /** Changes that need the agreement of several people. */
    readonly approvals: readonly ({
      /** Change. */
      readonly action: 'publish' | 'restate' | 'amend' | 'action' | 'override' | 'waive';
      /** Number of people who must agree. */
      readonly persons: number;
    })[];
    /** Decisions about days of the schedules, newest first; at most 50. A waiver lists the findings about the index and its parents. Days that were performed without a reason are not listed. */
    readonly judgements: readonly Judgement[];
    /** Prices that replace prices of the source, for securities that the run holds or buys at that close. Latest session first; at most 50. */
    readonly overrides: readonly PriceOverride[];
  };
  /** Circumstances in which the index may not represent its market. */
  readonly limitations: readonly string[];
  /** Versions of the definition up to the described version, newest first; at most 50. */
  readonly changes: readonly MethodologyChange[];
  /** Dated changes of the definition. */
  readonly amendments: readonly Amendment[];
  /** Reviews of constituents. */
  readonly review: {
    /** Frequency of the reviews of its constituents. */
    readonly frequency: string;
    /** Next effective dates of reviews. */
    readonly upcoming: readonly string[];
  };
  /** Published closes; null if there are none. */
  readonly publication: {
    /** First published date. */
    readonly first: string;
    /** Last published date. */
    readonly through: string;
    /** Number of closes that were published for the first time. */
    readonly closes: number;
    /** Number of closes that were published again. */
    readonly restatements: number;
    /** Version of the definition of the last published close; null if it is unknown. */
    readonly index_version: number | null;
  } | null;
  /** Register of errors, newest first; at most 50. */
  readonly errors: readonly PublishedError[];
  /** Procedures of the administrator that apply to the index. */
  readonly procedures: readonly Procedure[];
}

export interface BenchmarkStatistics {
  /** Number of dates in both series. */
  readonly observations: number;
  /** Return of the benchmark over the common dates. A fraction. */
  readonly benchmark_return: number;
  /** Return over the common dates, less the return of the benchmark. A fraction. */
  readonly excess_return: number;
  /** Annualised standard deviation of the return differences to the benchmark. A fraction. */
  readonly tracking_error: number;
  /** Mean active return x sessions per year, divided by the annualised standard deviation of active returns. */
  readonly information_ratio: number | null;
  /** Geometric mean return divided by the geometric mean return of the benchmark, on sessions with a positive benchmark return; null if there are none. */
  readonly up_capture: number | null;
  /** Same ratio as up_capture, on sessions with a negative benchmark return. */
  readonly down_capture: number | null;
}

/** The beta of the portfolio to the index is between two bounds. It is computed from the covariance of the problem. */
export interface BetaParams {
  /** Smallest beta. */
  readonly lower?: number | null | undefined;
  /** Largest beta. */
  readonly upper?: number | null | undefined;
  /** Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated. */
  readonly soft?: number | null | undefined;
  /** Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy. */
  readonly priority?: number | undefined;
}

export interface BetaRow {
  readonly type: 'Beta';
  /** Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position. */
  readonly id?: string | undefined;
  /** Parameters of the type, by name. */
  readonly params?: BetaParams | undefined;
}

/** Returns in excess of cash for which the index is optimal, adjusted by views according to their confidence and the covariances. */
export interface BlackLittermanReturns {
  /** Expected returns of portfolios, each with a confidence. An empty list keeps the prior. */
  readonly views?: readonly View[] | undefined;
  /** Variance of the prior, as a fraction of the covariance. */
  readonly tau?: number | undefined;
  /** Expected return of the index in excess of cash per unit of its variance. */
  readonly risk_aversion?: number | undefined;
  readonly type: 'black_litterman';
}

/** Several indices with fixed weights, which are restored on a separate schedule. */
export interface BlendOverlay {
  readonly type: 'blend';
  /** Indices and their weights, with a sum of 1. */
  readonly parts: readonly {
    /** Index of the part. */
    readonly index_id: string;
    /** Weight at each rebalance of the blend. */
    readonly weight: number;
  }[];
  /** Dates on which the weights are restored. */
  readonly rebalance: RebalanceSpec;
  /** Return variant of every part. Default: the variant of the first part. */
  readonly variant?: 'price' | 'total' | 'net' | undefined;
  /** Cost of changes of exposure at the close, in basis points of the traded amount. Default: 0. */
  readonly cost_bps?: number | undefined;
}

/** Several indices with fixed weights, which are restored on a separate schedule. */
export interface BlendOverlayInput {
  readonly type: 'blend';
  /** Indices and their weights, with a sum of 1. */
  readonly parts: readonly {
    /** Index of the part. */
    readonly index_id: string;
    /** Weight at each rebalance of the blend. */
    readonly weight: number;
  }[];
  /** Dates on which the weights are restored. */
  readonly rebalance?: RebalanceSpecInput | undefined;
  /** Return variant of every part. Default: the variant of the first part. */
  readonly variant?: 'price' | 'total' | 'net' | undefined;
  /** Cost of changes of exposure at the close, in basis points of the traded amount. Default: 0. */
  readonly cost_bps?: number | undefined;
}

export interface BookPayload {
  /** Level in index points, starting at the base value. A benchmark with only a series of levels is rebased to 100. */
  readonly levels: SeriesPayload;
  /** Held weights after each close, dates by identifier, for the latest MAX_WEIGHT_DATES dates. The last column is the cash that an overlay holds or owes, as `CASH/USD`. */
  readonly weights: TableFrame;
  /** Number of dates of the whole table. */
  readonly weights_dates_total: number;
  /** Compositions, by date. */
  readonly rebalances: readonly RebalanceSnapshot[];
  /** Total number of rebalances, including rebalances that are not returned. */
  readonly rebalances_total: number;
  /** Set only if the calendar does not cover the requested range. */
  readonly calendar_coverage: CalendarCoveragePayload | null;
  /** Market value divided by level, 1 at the start. Absent for a benchmark with only a series of levels. */
  readonly divisor?: SeriesPayload | undefined;
  /** Ordinary dividends of each session in points of the price return; absent if dividends are reinvested in the paying security, and in older runs. */
  readonly dividend_points?: SeriesPayload | undefined;
}

/** Bound that changes by a fraction every year. */
export interface BoundPath {
  /** Value at the base, or a base date. With a date, the value is that of the parent at its latest review on or before this date. */
  readonly base: number | string;
  /** Change per year, a fraction: -0.07 lowers the bound by 7% per year. The number of years is the number of days divided by 365.25. */
  readonly yearly: number;
  /** Multiple of the value at the base. With 0.5, the bound starts at half of this value. */
  readonly times?: number | undefined;
  /** Start of the first year if `base` is a value. Default: the base date of the index. */
  readonly from?: string | undefined;
}

export interface BucketTarget {
  readonly type: 'bucket';
  /** Name of the target, unique among the targets of the client. */
  readonly name: string;
  /** Tables whose files are sent to the target. `report` is a rendered report. Default: all files that the client can receive. */
  readonly tables: readonly string[] | null;
  /** Bucket and prefix. */
  readonly url: string;
  /** Region: lower-case letters, digits and single dashes, such as eu-central-1. Default: the region of the service. */
  readonly region: string | null;
  /** Origin of a store outside AWS. Default: the origin of the service; with a region, AWS. */
  readonly endpoint: string | null;
  /** Access key of the client. Default: the keys of the service. */
  readonly access_key_id: string | null;
  /** Secret of the access key. */
  readonly secret: string | null;
  /** Path below the address: folders, and a name with {file} (the name of the file), {client}, {index}, {table}, {schedule} and {date:YYYYMMDD}. */
  readonly path: string;
  /** True writes a file NAME.sha256 after each file, in the format of sha256sum. */
  readonly checksum: boolean;
}

export interface BucketTargetInput {
  readonly type: 'bucket';
  /** Name of the target, unique among the targets of the client. */
  readonly name: string;
  /** Tables whose files are sent to the target. `report` is a rendered report. Default: all files that the client can receive. */
  readonly tables?: readonly string[] | null | undefined;
  /** Bucket and prefix. */
  readonly url: string;
  /** Region: lower-case letters, digits and single dashes, such as eu-central-1. Default: the region of the service. */
  readonly region?: string | null | undefined;
  /** Origin of a store outside AWS. Default: the origin of the service; with a region, AWS. */
  readonly endpoint?: string | null | undefined;
  /** Access key of the client. Default: the keys of the service. */
  readonly access_key_id?: string | null | undefined;
  /** Secret of the access key. */
  readonly secret?: string | null | undefined;
  /** Path below the address: folders, and a name with {file} (the name of the file), {client}, {index}, {table}, {schedule} and {date:YYYYMMDD}. */
  readonly path?: string | undefined;
  /** True writes a file NAME.sha256 after each file, in the format of sha256sum. */
  readonly checksum?: boolean | undefined;
}

/** Keeps the `count` best securities. Constituents stay while their rank is within a buffer, which reduces turnover. */
export interface BufferedTopNParams {
  /** Name of a column or derived datapoint, an expression as text or as nodes, or an object with name, window, lag, aggregate and transform. */
  readonly field?: string | DatapointInput | ExpressionNodeInput | undefined;
  /** Number of securities that are kept. Unit: securities. */
  readonly count: number;
  /** Securities ranked at or above this rank always enter. Default: 80% of count, rounded down. Unit: rank. */
  readonly enter_rank?: number | null | undefined;
  /** Constituents ranked at or above this rank stay. Default: 120% of count, rounded up. Unit: rank. */
  readonly exit_rank?: number | null | undefined;
  /** True ranks the smallest values first. */
  readonly ascending?: boolean | undefined;
  /** Column whose values define groups. The rule is applied to each group separately. Securities without a value form one group. */
  readonly group_by?: string | null | undefined;
  /** Treatment of a security without a value of the datapoint. In a ranking, an included security without a value is last. */
  readonly missing?: 'exclude' | 'include' | undefined;
}

export interface BufferedTopNRule {
  /** Id of the rule, unique within the pipeline. */
  readonly id: string;
  readonly type: 'BufferedTopN';
  /** Parameters of the type, by name. */
  readonly params?: BufferedTopNParams | undefined;
  /** Parameters that are tried, in order, if the rule keeps too few securities. */
  readonly fallback?: readonly RuleFallback[] | undefined;
}

/** The average of the worst historical drawdowns is at most a limit. Drawdowns are computed from summed session returns. */
export interface CDaRParams {
  /** Largest average drawdown, as a fraction of value. Unit: fraction. */
  readonly limit: number;
  /** Confidence: the average is taken over the worst scenarios, which are the fraction 1 - confidence. 0 averages all scenarios. Unit: fraction. */
  readonly confidence?: number | undefined;
  /** Number of sessions up to the decision. Their returns are the scenarios. Default: the sessions of the risk model. Unit: sessions. */
  readonly scenarios?: number | null | undefined;
  /** Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated. */
  readonly soft?: number | null | undefined;
  /** Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy. */
  readonly priority?: number | undefined;
}

export interface CDaRRow {
  readonly type: 'CDaR';
  /** Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position. */
  readonly id?: string | undefined;
  /** Parameters of the type, by name. */
  readonly params?: CDaRParams | undefined;
}

/** The average loss of the worst historical or simulated sessions (expected shortfall) is at most a limit. */
export interface CVaRParams {
  /** Largest average loss of one session, as a fraction of value. Unit: fraction. */
  readonly limit: number;
  /** Confidence: the average is taken over the worst scenarios, which are the fraction 1 - confidence. 0 averages all scenarios. Unit: fraction. */
  readonly confidence?: number | undefined;
  /** Number of sessions up to the decision. Their returns are the scenarios. Default: the sessions of the risk model. Unit: sessions. */
  readonly scenarios?: number | null | undefined;
  /** Source of the scenarios: historical returns, blocks of historical returns drawn with replacement, or draws with the covariance of the risk model, from a normal or Student's distribution. */
  readonly source?: 'historical' | 'bootstrap' | 'normal' | 'student' | undefined;
  /** Number of drawn scenarios; ignored for historical scenarios. */
  readonly draws?: number | undefined;
  /** Number of consecutive returns in a block of a bootstrap. Maximum: the number of returns. Unit: sessions. */
  readonly block?: number | undefined;
  /** Degrees of freedom of Student's distribution. Fewer degrees of freedom mean heavier tails. */
  readonly degrees_of_freedom?: number | undefined;
  /** Seed of the draws. Equal seeds give equal draws. */
  readonly seed?: number | undefined;
  /** Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated. */
  readonly soft?: number | null | undefined;
  /** Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy. */
  readonly priority?: number | undefined;
}

export interface CVaRRow {
  readonly type: 'CVaR';
  /** Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position. */
  readonly id?: string | undefined;
  /** Parameters of the type, by name. */
  readonly params?: CVaRParams | undefined;
}

export interface CalendarClosures {
  /** Code of the calendar. */
  readonly calendar: string;
  /** Name of the exchange. */
  readonly name: string;
  /** Newest version of the changes; 0 if none were ever recorded. */
  readonly version: number;
  /** Time of the last write. */
  readonly updated_at: string | null;
  /** Recorded changes by date. */
  readonly changes: readonly SessionChange[];
}

export interface CalendarClosuresCollection {
  /** Calendars by code. */
  readonly calendars: readonly CalendarClosures[];
}

/** Days for which the calendar has sessions, as YYYY-MM-DD. Nothing is extrapolated beyond them. */
export interface CalendarCoverage {
  /** First day that the calendar covers. */
  readonly from: string;
  /** Last day for which closures come from a published list. */
  readonly published_to: string;
  /** Last day of the calendar. After published_to, holidays are computed from their rules. */
  readonly to: string;
}

export interface CalendarCoveragePayload {
  /** Exchange MIC from /indices/calendars. */
  readonly calendar: string;
  /** Requested value; the first date of the run if omitted. */
  readonly requested_start: string;
  /** Requested value; the last date of the run if omitted. */
  readonly requested_end: string;
  /** First date that the calendar covers. */
  readonly covered_start: string;
  /** Last date that the calendar covers. */
  readonly covered_end: string;
  /** True if the calendar begins after the requested start. */
  readonly trimmed_start: boolean;
  /** True if the calendar ends before the requested end. */
  readonly trimmed_end: boolean;
}

export interface CalendarList {
  /** Every accepted code, sorted by code. */
  readonly calendars: readonly CalendarOption[];
  /** Code that a form can preselect. A document must still contain a calendar. */
  readonly default: string;
}

export interface CalendarOption {
  /** MIC of the exchange, which is the value of `calendar` in requests. */
  readonly code: string;
  /** Display name. */
  readonly name: string;
  /** First part of the IANA time zone. */
  readonly region: string;
  /** IANA time zone. */
  readonly tz: string;
  /** Days for which the calendar has sessions. */
  readonly coverage: CalendarCoverage;
  /** Sources with which the sessions agree, except for the differences that README.md lists. */
  readonly sources: readonly string[];
}

export interface CallbackTarget {
  readonly type: 'callback';
  /** Name of the target, unique among the targets of the client. */
  readonly name: string;
  /** Tables whose files are sent to the target. `report` is a rendered report. Default: all files that the client can receive. */
  readonly tables: readonly string[] | null;
  /** Receiver. */
  readonly url: string;
  /** Secret that signs the requests, known only to the receiver of this target. */
  readonly secret: string | null;
}

export interface CallbackTargetInput {
  readonly type: 'callback';
  /** Name of the target, unique among the targets of the client. */
  readonly name: string;
  /** Tables whose files are sent to the target. `report` is a rendered report. Default: all files that the client can receive. */
  readonly tables?: readonly string[] | null | undefined;
  /** Receiver. */
  readonly url: string;
  /** Secret that signs the requests, known only to the receiver of this target. */
  readonly secret?: string | null | undefined;
}

/** Risk aversion times the covariance with the index. These are the returns in excess of cash for which the index is optimal. Betas can be shrunk towards one. */
export interface CapmReturns {
  /** Expected return of the index in excess of cash per unit of its variance. */
  readonly risk_aversion?: number | undefined;
  /** Weight of 1 in each shrunk beta. Unit: fraction. */
  readonly shrinkage?: number | undefined;
  readonly type: 'capm';
}

/** The number of securities held, long or short, is between two bounds. */
export interface CardinalityParams {
  /** Minimum number of holdings. Unit: securities. */
  readonly minimum?: number | undefined;
  /** Maximum number of holdings. Unit: securities. */
  readonly maximum?: number | undefined;
  /** Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated. */
  readonly soft?: number | null | undefined;
  /** Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy. */
  readonly priority?: number | undefined;
}

export interface CardinalityRow {
  readonly type: 'Cardinality';
  /** Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position. */
  readonly id?: string | undefined;
  /** Parameters of the type, by name. */
  readonly params?: CardinalityParams | undefined;
}

export interface CarryDecomposition {
  /** spot x (exp(-b tau) - 1). */
  readonly borrow: number;
  /** Effect of dividends. It is negative, because dividends reduce the forward. */
  readonly dividend: number;
  /** spot x (exp(r tau) - 1). */
  readonly financing: number;
  /** Total less the three parts. */
  readonly residual: number;
  /** Fair value less spot. */
  readonly total: number;
}

/** Keeps securities with a category in one list, and without a category in another list. */
export interface CategoryFilterParams {
  /** Column or derived datapoint. */
  readonly field: string;
  /** Categories that are kept. Default: all categories that are not excluded. */
  readonly include?: readonly string[] | null | undefined;
  /** Categories that are removed. */
  readonly exclude?: readonly string[] | null | undefined;
  /** Treatment of a security without a value of the datapoint. In a ranking, an included security without a value is last. */
  readonly missing?: 'exclude' | 'include' | undefined;
}

export interface CategoryFilterRule {
  /** Id of the rule, unique within the pipeline. */
  readonly id: string;
  readonly type: 'CategoryFilter';
  /** Parameters of the type, by name. */
  readonly params?: CategoryFilterParams | undefined;
  /** Parameters that are tried, in order, if the rule keeps too few securities. */
  readonly fallback?: readonly RuleFallback[] | undefined;
}

export interface ChangedField {
  /** Description of the member of the definition. */
  readonly field: string;
  /** JSON pointer of the member. */
  readonly path: string;
  /** Value before the change; null if there was none. */
  readonly before: unknown;
  /** Value after the change; null if there is none. */
  readonly after: unknown;
}

export interface ChangedOverrides {
  /** The data store. */
  readonly store_id: string;
  /** Overrides in force, by date and security. */
  readonly overrides: readonly PriceOverride[];
  /** Id of the refresh job that applies the change; null if the next refresh applies it. */
  readonly job_id: string | null;
}

export interface ChangelogEntryView {
  /** Version number, or Unreleased. */
  readonly version: string;
  /** YYYY-MM-DD; null for Unreleased. */
  readonly date: string | null;
  /** Sections of the release; empty for an empty Unreleased entry. */
  readonly sections: readonly ChangelogSectionView[];
}

export interface ChangelogResponse {
  /** The running engine version, as /health reports it. */
  readonly version: string;
  /** Newest first; releases without changes are omitted. */
  readonly entries: readonly ChangelogEntryView[];
}

export interface ChangelogSectionView {
  /** One of the headings of Keep a Changelog. */
  readonly heading: 'Added' | 'Changed' | 'Fixed' | 'Removed' | 'Deprecated' | 'Security';
  /** Changes as Markdown, one per entry. */
  readonly items: readonly string[];
}

export interface ChartBlock {
  readonly kind: 'chart';
  /** Title that is printed above the block. */
  readonly title: string | null;
  /** Index (or strategy) whose latest run the block shows. */
  readonly index_id: string | null;
  /** Width of the block. Two consecutive half blocks are placed next to each other. */
  readonly width: 'full' | 'half';
  /** Series of the chart. `level`: portfolio, rebased to 100; `index_level`: index that the portfolio follows, rebased to 100; `benchmark`: benchmark, rebased to 100, if the run has one; `drawdown`: level relative to its running maximum, less 1; `rolling_volatility`: annualised volatility of the latest 252 sessions, or fewer for a short run; `headroom`: distance to the nearest bound of a concentration rule, set by `rule` and `fallback_rule`; `sector_weights`: weights of the three sectors with the largest mean weight. */
  readonly lines: readonly ('level' | 'index_level' | 'benchmark' | 'drawdown' | 'rolling_volatility' | 'headroom' | 'sector_weights')[];
  /** True draws a logarithmic axis for the levels. */
  readonly log_scale: boolean;
  /** Published concentration rule whose headroom is drawn. Default: the rule that triggers rebalances. */
  readonly rule: 'UCITS_5_10_40' | 'UCITS_20_35' | 'RIC_25_5_50' | 'SEC_75_5_10' | null;
  /** Rule whose headroom is drawn if `rule` is absent and no rule triggers rebalances of the index. Default: none. */
  readonly fallback_rule: 'UCITS_5_10_40' | 'UCITS_20_35' | 'RIC_25_5_50' | 'SEC_75_5_10' | null;
  /** Height of the chart in points, at most the height of the page. */
  readonly height: number;
}

export interface ChartBlockInput {
  readonly kind: 'chart';
  /** Title that is printed above the block. */
  readonly title?: string | null | undefined;
  /** Index (or strategy) whose latest run the block shows. */
  readonly index_id?: string | null | undefined;
  /** Width of the block. Two consecutive half blocks are placed next to each other. */
  readonly width?: 'full' | 'half' | undefined;
  /** Series of the chart. `level`: portfolio, rebased to 100; `index_level`: index that the portfolio follows, rebased to 100; `benchmark`: benchmark, rebased to 100, if the run has one; `drawdown`: level relative to its running maximum, less 1; `rolling_volatility`: annualised volatility of the latest 252 sessions, or fewer for a short run; `headroom`: distance to the nearest bound of a concentration rule, set by `rule` and `fallback_rule`; `sector_weights`: weights of the three sectors with the largest mean weight. */
  readonly lines?: readonly ('level' | 'index_level' | 'benchmark' | 'drawdown' | 'rolling_volatility' | 'headroom' | 'sector_weights')[] | undefined;
  /** True draws a logarithmic axis for the levels. */
  readonly log_scale?: boolean | undefined;
  /** Published concentration rule whose headroom is drawn. Default: the rule that triggers rebalances. */
  readonly rule?: 'UCITS_5_10_40' | 'UCITS_20_35' | 'RIC_25_5_50' | 'SEC_75_5_10' | null | undefined;
  /** Rule whose headroom is drawn if `rule` is absent and no rule triggers rebalances of the index. Default: none. */
  readonly fallback_rule?: 'UCITS_5_10_40' | 'UCITS_20_35' | 'RIC_25_5_50' | 'SEC_75_5_10' | null | undefined;
  /** Height of the chart in points, at most the height of the page. */
  readonly height?: number | undefined;
}

export interface CheckMeasure {
  /** Measured value. */
  readonly value: number;
  /** Limit of the check. */
  readonly limit: number;
  /** Unit of the value and the limit. */
  readonly unit: 'fraction' | 'bp' | 'sessions' | 'constituents';
}

/** Checks the data and the run of each index before its close is published. A finding blocks its index, or is only reported. */
export interface ChecksStep {
  readonly type: 'checks';
  /** Checks with their parameters. Default: all checks that need no parameters; before the step run, only the checks of data. */
  readonly checks: readonly (CoverageCheck | StalenessCheck | MovesCheck | HistoryCheck | ActionsCheck | ConfirmedActionsCheck | WeightsCheck | DivisorCheck | LimitsCheck | SecondSourceCheck | PublishedCheck)[] | null;
}

/** Checks the data and the run of each index before its close is published. A finding blocks its index, or is only reported. */
export interface ChecksStepInput {
  readonly type: 'checks';
  /** Checks with their parameters. Default: all checks that need no parameters; before the step run, only the checks of data. */
  readonly checks?: readonly (CoverageCheckInput | StalenessCheckInput | MovesCheckInput | HistoryCheckInput | ActionsCheckInput | ConfirmedActionsCheckInput | WeightsCheckInput | DivisorCheckInput | LimitsCheckInput | SecondSourceCheckInput | PublishedCheckInput)[] | null | undefined;
}

export interface Client {
  /** Display name. */
  readonly name: string;
  /** Free text. */
  readonly description: string | null;
  /** True if files are delivered. */
  readonly enabled: boolean;
  /** Files that the client can receive. A file must be covered by one entry. An empty list covers no files. */
  readonly entitlements: readonly Entitlement[];
  /** Targets to which files are delivered. */
  readonly targets: readonly (FolderTarget | BucketTarget | SftpTarget | CallbackTarget | MailTarget)[];
  /** The client. */
  readonly client_id: string;
  /** Time of the last change, ISO-8601 UTC with offset. */
  readonly updated_at: string;
  /** Names of the targets with a stored secret. */
  readonly secrets: readonly string[];
  /** Reasons why the service does not permit targets of the stored client. Such a client is disabled until it is stored again, or until the settings permit its targets. */
  readonly problems: readonly string[];
}

export interface ClientBody {
  /** Display name. */
  readonly name: string;
  /** Free text. */
  readonly description?: string | null | undefined;
  /** True if files are delivered. */
  readonly enabled?: boolean | undefined;
  /** Files that the client can receive. A file must be covered by one entry. An empty list covers no files. */
  readonly entitlements: readonly EntitlementInput[];
  /** Targets to which files are delivered. */
  readonly targets?: readonly (FolderTargetInput | BucketTargetInput | SftpTargetInput | CallbackTargetInput | MailTargetInput)[] | undefined;
}

export interface ClientCollection {
  /** Clients by id. */
  readonly clients: readonly ListedClient[];
  /** Number of stored documents that are omitted because they cannot be read. */
  readonly skipped: number;
  /** Number of omitted documents by cause. */
  readonly skipped_causes: SkippedCauses;
}

/** Effect of recorded changes. */
export interface ClosureEffect {
  /** Dates that become sessions. */
  readonly added: readonly string[];
  /** Sessions that are lost. */
  readonly removed: readonly string[];
  /** Sessions whose hours change. */
  readonly hours: readonly string[];
  /** Indices on the calendar, and other indices with a run that becomes stale. */
  readonly indices: readonly {
    /** The index, or the strategy of a run. */
    readonly index_id: string;
    /** Reasons why the latest run becomes stale. Empty if it remains current, or if there is no run. */
    readonly stale: readonly string[];
    /** Rebalances and reviews that move or are lost. */
    readonly before: readonly MovedDate[];
    /** New dates of these rebalances and reviews. */
    readonly after: readonly MovedDate[];
    /** Published closes on lost sessions. They are kept. */
    readonly published: readonly string[];
    /** Added sessions before the last published close. */
    readonly unpublished: readonly string[];
  }[];
  /** Schedules on the calendar with such days. */
  readonly schedules: readonly {
    /** The schedule. */
    readonly schedule_id: string;
    /** Unfinished days on lost sessions. These days end. Days that are done, skipped or missed are not changed. */
    readonly ended: readonly string[];
    /** Added sessions in the past without a day. A backfill can perform them. */
    readonly missing: readonly string[];
  }[];
}

export interface ClosuresBody {
  /** Changes, one for each date. */
  readonly changes: readonly SessionChange[];
  /** True lists the changes without storing them. */
  readonly dry_run?: boolean | undefined;
}

/** Combinatorial purged cross-validation. Every combination of test groups is a split, and the tests are joined to several complete paths. */
export interface CombinatorialFolds {
  readonly method: 'combinatorial';
  /** Number of groups of equal length into which time is divided. */
  readonly groups?: number | undefined;
  /** Metric by which a variant is selected in sample. The first of equal variants is selected. */
  readonly select_by?: 'sharpe_ratio' | 'annualised_return' | 'max_drawdown' | 'volatility' | undefined;
  /** Number of sample sessions that are excluded before and after every test, because closes of one day occur at different times. */
  readonly purge?: number | undefined;
  /** Number of further sample sessions that are excluded after every test. Null: 1% of all sessions, rounded up. */
  readonly embargo?: number | null | undefined;
  /** Number of groups in every test. Each combination of them is a split, and all other groups are its sample. */
  readonly test_groups?: number | undefined;
}

export interface CompareEntry {
  /** Version of the index or strategy; null for runs that were stored before versions existed. */
  readonly index_version: number | null;
  /** Data store on which the run was computed; null for runs that were stored without it. */
  readonly store_id: string | null;
  /** Causes why the run is stale; null if the stored run equals a new run of the request. */
  readonly stale: StaleState | null;
  /** Id of the run; null for a benchmark. */
  readonly run_id: string | null;
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** Return variant of the levels; `raw` for unadjusted levels. */
  readonly return_variant: 'price' | 'total' | 'net' | 'raw';
  /** Currency of the levels. */
  readonly currency: string;
  /** Level, 100 at the start. */
  readonly level: SeriesPayload;
  /** Last level divided by the first, less 1. A fraction. */
  readonly total_return: number;
  /** Common returns per year, by which the figures of the entry are annualised: 252, or 365 if the series has weekend dates, times the share of its sessions that are common. A benchmark has the number of the first run. */
  readonly periods_per_year: number;
  /** total_return per year of periods_per_year returns; null with one common date. */
  readonly annualised_return: number | null;
  /** Annualised standard deviation of returns. A fraction. */
  readonly volatility: number;
  /** Mean return x periods_per_year / volatility; 0 without volatility. */
  readonly sharpe_ratio: number;
  /** Lowest drawdown, at most 0. A fraction. */
  readonly max_drawdown: number;
  /** Figures relative to the benchmark of the request; null without a benchmark, for the benchmark itself, and with fewer than 3 common dates. */
  readonly benchmark_statistics: BenchmarkStatistics | null;
}

/** Compares the level of each index with the level of a second source, a series of the store. A difference blocks the index. */
export interface CompareStep {
  readonly type: 'compare';
  /** Series by index. Indices that are not listed have no second source. */
  readonly second_source: Readonly<Record<string, string>>;
  /** Largest difference, in basis points of the level. */
  readonly tolerance_bps: number;
  /** Return variant of the series. */
  readonly variant: 'price' | 'total' | 'net';
}

/** Compares the level of each index with the level of a second source, a series of the store. A difference blocks the index. */
export interface CompareStepInput {
  readonly type: 'compare';
  /** Series by index. Indices that are not listed have no second source. */
  readonly second_source: Readonly<Record<string, string>>;
  /** Largest difference, in basis points of the level. */
  readonly tolerance_bps?: number | undefined;
  /** Return variant of the series. */
  readonly variant?: 'price' | 'total' | 'net' | undefined;
}

export interface CompareView {
  /** The requested indices. */
  readonly index_ids: readonly string[];
  /** Entries, in the order of the request. */
  readonly entries: readonly CompareEntry[];
  /** `DIFFERENT_DATA`: the runs used different data. `RETURNS_DIFFER` and `CURRENCIES_DIFFER`: the levels are not comparable. `WINDOW_CUT`: the benchmark lacks common dates of the runs. */
  readonly findings: readonly Finding[];
  /** Correlations of the returns, with rows and columns in the order of the entries. Null if a series is constant. */
  readonly correlations: readonly (readonly (number | null)[])[];
  /** Number of dates used. */
  readonly observations: number;
  /** First common date. */
  readonly start: string;
  /** Last common date. */
  readonly end: string;
}

export interface ComparisonNode {
  readonly node: 'comparison';
  /** Datapoint or reference column. */
  readonly field: ExpressionNode;
  /** Comparison of the datapoint with the value. */
  readonly comparison: 'gt' | 'ge' | 'lt' | 'le' | 'eq' | 'ne' | 'in' | 'between';
  /** For gt, ge, lt, le: a number or an expression. For eq, ne: a string, number or boolean. For in: a non-empty array. For between: [low, high]. */
  readonly value: unknown;
  /** Canonical text of the tree, at its root; ignored in requests. */
  readonly text?: string | undefined;
}

export interface ComparisonNodeInput {
  readonly node: 'comparison';
  /** Datapoint or reference column. */
  readonly field: ExpressionNodeInput;
  /** Comparison of the datapoint with the value. */
  readonly comparison: 'gt' | 'ge' | 'lt' | 'le' | 'eq' | 'ne' | 'in' | 'between';
  /** For gt, ge, lt, le: a number or an expression. For eq, ne: a string, number or boolean. For in: a non-empty array. For between: [low, high]. */
  readonly value: unknown;
  /** Canonical text of the tree, at its root; ignored in requests. */
  readonly text?: string | undefined;
}

/** Scores securities by a weighted average of winsorised z-scores. It keeps the best scores, the scores above a minimum, or both. */
export interface CompositeScoreParams {
  /** Datapoints of the score. */
  readonly terms: readonly ScoreTerm[];
  /** Number of best scores that are kept. Default: no limit. Unit: securities. */
  readonly count?: number | null | undefined;
  /** Minimum score; null: no minimum. Unit: z units. */
  readonly minimum?: number | null | undefined;
  /** Treatment of a security without a value of the datapoint. In a ranking, an included security without a value is last. */
  readonly missing?: 'exclude' | 'include' | undefined;
}

export interface CompositeScoreRule {
  /** Id of the rule, unique within the pipeline. */
  readonly id: string;
  readonly type: 'CompositeScore';
  /** Parameters of the type, by name. */
  readonly params?: CompositeScoreParams | undefined;
  /** Parameters that are tried, in order, if the rule keeps too few securities. */
  readonly fallback?: readonly RuleFallback[] | undefined;
}

/** UCITS limits: no security is above `single`, and the securities above `trigger` add up to at most `aggregate`. */
export interface Concentration5_10_40Params {
  /** Maximum weight of one security. Unit: fraction. */
  readonly single?: number | undefined;
  /** Weight above which a security is included in the aggregate. Unit: fraction. */
  readonly trigger?: number | undefined;
  /** Maximum total weight of the securities above the trigger. Unit: fraction. */
  readonly aggregate?: number | undefined;
  /** Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated. */
  readonly soft?: number | null | undefined;
  /** Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy. */
  readonly priority?: number | undefined;
}

export interface Concentration5_10_40Row {
  readonly type: 'Concentration5_10_40';
  /** Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position. */
  readonly id?: string | undefined;
  /** Parameters of the type, by name. */
  readonly params?: Concentration5_10_40Params | undefined;
}

export interface ConcentrationPayload {
  /** Number of securities with a weight above 0. */
  readonly constituents: number;
  /** 1 divided by the sum of squared weights: the number of equal weights with the same concentration. Cash raises the number, and leverage lowers it. */
  readonly effective_assets: number;
  /** Sum of the squared weights. */
  readonly herfindahl: number;
  /** Largest weight. */
  readonly largest: number;
  /** Combined weight of the largest 1, 5, 10 and 20 constituents. */
  readonly top_weights: Readonly<Record<string, number>>;
  /** Securities with a position, long or short. Absent in overviews of runs of earlier versions. */
  readonly gross_constituents?: number | undefined;
  /** Squared sum of the absolute weights, divided by the sum of the squared weights: the number of equal positions with the same concentration, regardless of cash and borrowing. Absent in overviews of runs of earlier versions. */
  readonly gross_effective_assets?: number | undefined;
  /** Largest absolute weight, long or short. Absent in overviews of runs of earlier versions. */
  readonly gross_largest?: number | undefined;
}

/** United States RIC limits: no security is above `single`, and the securities above `trigger` add up to at most `aggregate`. */
export interface ConcentrationRICParams {
  /** Maximum weight of one security. Unit: fraction. */
  readonly single?: number | undefined;
  /** Weight above which a security is included in the aggregate. Unit: fraction. */
  readonly trigger?: number | undefined;
  /** Maximum total weight of the securities above the trigger. Unit: fraction. */
  readonly aggregate?: number | undefined;
  /** Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated. */
  readonly soft?: number | null | undefined;
  /** Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy. */
  readonly priority?: number | undefined;
}

export interface ConcentrationRICRow {
  readonly type: 'ConcentrationRIC';
  /** Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position. */
  readonly id?: string | undefined;
  /** Parameters of the type, by name. */
  readonly params?: ConcentrationRICParams | undefined;
}

export interface ConcentrationSeries {
  /** Sum of the squared weights. One value per date. */
  readonly herfindahl: readonly number[];
  /** Effective number of securities: 1 / herfindahl; 0 without weights. One value per date. */
  readonly effective: readonly number[];
  /** Largest weight. One value per date. */
  readonly largest: readonly number[];
  /** Squared sum of the absolute weights, divided by herfindahl: the number of equal positions with the same concentration. One value per date. */
  readonly gross_effective: readonly number[];
  /** Largest absolute weight, long or short. One value per date. */
  readonly gross_largest: readonly number[];
}

/** A person has confirmed the corporate actions of constituents that take effect on the session. */
export interface ConfirmedActionsCheck {
  readonly check: 'confirmed_actions';
  /** Findings block the index (block), or are only reported (warn). Default: block. */
  readonly severity: 'block' | 'warn';
}

/** A person has confirmed the corporate actions of constituents that take effect on the session. */
export interface ConfirmedActionsCheckInput {
  readonly check: 'confirmed_actions';
  /** Findings block the index (block), or are only reported (warn). Default: block. */
  readonly severity?: 'block' | 'warn' | undefined;
}

/** Entry of a security into the index, or exit from it. */
export interface ConstituentChange {
  /** Session of the change, at its close. */
  readonly date: string;
  /** `rebalance` the composition of a rebalance took effect; `replacement` a change between reviews by `events.replacement`: the security replaced `related`, or was replaced by it; `fast_exit` a change between reviews by `events.fast_exit`: the security replaced `related`, or was replaced by it; `fast_entry` a change between reviews by `events.fast_entry`: the security replaced `related`, or was replaced by it; `order` an order of a rebalance was filled after it had waited for a price bar; `merger` a merger into `related`, or an exit at the last close if `related` had no price; `acquisition` an acquisition; `delisting` a delisting; `ticker_change` a change of ticker; `spin_off` the first price of a security spun off from `related`; `spin_off_exit` the first close of a spun-off security, with `spin_offs: "drop_after_first_session"`; `silence` no price bar for `max_stale_sessions` sessions, without a corporate action; `missing_price` no price bar on a session, with `missing_prices: "exclude"`; `total_loss` the value of the index was 0. */
  readonly event: 'rebalance' | 'replacement' | 'fast_exit' | 'fast_entry' | 'order' | 'merger' | 'acquisition' | 'delisting' | 'ticker_change' | 'spin_off' | 'spin_off_exit' | 'silence' | 'missing_price' | 'total_loss';
  /** Ex-date of the corporate action; null if there is none. */
  readonly ex_date: string | null;
  /** Security that replaces this security, or from which it originates. */
  readonly related: string | null;
  /** Shares received per share. If the security left, shares of `related`. If the security originates from `related`, shares of the security per share of `related`. */
  readonly ratio: number | null;
  /** Weight in the index; negative for a short position. For an exit, the weight at the price paid, before the trades of the close. For an entry, the weight after the trades. */
  readonly weight: number;
  /** Price paid per share, in `currency`. */
  readonly price: number;
  /** Currency of the security. */
  readonly currency: string;
  /** Day of the latest bar of the security up to the change. */
  readonly last_bar: string | null;
  /** Rebalance of the order if the order waited for a bar; otherwise null. */
  readonly ordered_on: string | null;
}

export interface ConstituentRow {
  /** Identifier of the security, or `CASH/USD` for the cash of an overlay in that currency (negative if money is borrowed). */
  readonly identifier: string;
  /** Weight held on as_of. */
  readonly weight: number;
  /** Weight of the rebalance in force, after capping. */
  readonly decided_weight: number;
  /** Weight of the rebalance in force, before capping. */
  readonly raw_weight: number;
  /** True if the cap limits the weight of the security. */
  readonly capped: boolean;
  /** Weight minus the weight in the benchmark. */
  readonly active_weight: number | null;
  /** Contribution to the tracking error. It can be negative. */
  readonly active_risk_contribution: number | null;
  /** Contribution to the annualised volatility; null if the security has no estimate. */
  readonly risk_contribution: number | null;
  /** Held weight less target weight; null on the rebalance date. */
  readonly delta_since_rebalance: number | null;
  /** Shares outstanding on the date in the data of the run (not the shares that the index holds). Null if other data is served, or if there is no value. */
  readonly shares_outstanding: number | null;
}

export interface ConstraintCost {
  /** Id of the constraint in the request; empty if it has none. */
  readonly id: string;
  /** Position of the constraint in the request. */
  readonly index: number;
  /** Class name. */
  readonly type: string;
  /** objective_value of the problem without the constraint. If it is null, `reason` states why. */
  readonly objective_without: number | null;
  /** Deterioration of objective_value due to the constraint; 0 if the constraint is not binding. */
  readonly cost: number | null;
  /** Reason why objective_without and cost are null: the problem without the constraint has no solution, or the work limit for explanations of tail risk is reached. Otherwise null; absent in runs of earlier versions. */
  readonly reason?: 'no_answer' | 'work_spent' | null | undefined;
  /** Description of the effect, in the measure of the objective. */
  readonly sentence: string;
}

export interface ConstraintRow {
  /** Constraint class; see /optimise/constraint-types. */
  readonly type: string;
  /** Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position. */
  readonly id: string;
  /** Parameters of the type, by name. */
  readonly params: Readonly<Record<string, unknown>>;
}

export type ConstraintRowBody = FullInvestmentRow | WeightSumRow | GrossExposureRow | LongOnlyRow | PositionBoundsRow | RelativePositionBoundsRow | ActiveBoundsRow | GroupBoundsRow | ActiveGroupBoundsRow | TurnoverRow | TradeSizeRow | TrackingErrorRow | VolatilityRow | CVaRRow | CDaRRow | ActiveShareRow | EffectiveNumberRow | FactorExposureRow | WeightedAverageRow | BetaRow | ExpectedReturnRow | LiquidityRow | LinearConstraintRow | ExcludeRow | FreezeRow | CardinalityRow | MinimumHoldingRow | GroupCardinalityRow | Concentration5_10_40Row | ConcentrationRICRow;

export interface ConstraintRowInput {
  /** Constraint class; see /optimise/constraint-types. */
  readonly type: string;
  /** Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position. */
  readonly id?: string | undefined;
  /** Parameters of the type, by name. */
  readonly params?: Readonly<Record<string, unknown>> | undefined;
}

export interface ConstraintSet {
  /** Id of the document, which is part of its path. */
  readonly id: string;
  /** Display name. */
  readonly name: string;
  /** Constraints, in order. An empty list leaves the default of full investment. */
  readonly constraints: readonly ConstraintRow[];
}

/** A ConstraintSet with the parameters of every constraint class. */
export interface ConstraintSetBody {
  /** Id of the document, which is part of its path. */
  readonly id: string;
  /** Display name. */
  readonly name: string;
  /** Constraints. Without constraints, weights are long-only and add up to 1. */
  readonly constraints?: readonly ConstraintRowBody[] | undefined;
}

export interface ConstraintSetCollection {
  /** Stored sets by id. */
  readonly constraint_sets: readonly ConstraintSet[];
  /** Number of stored documents that are omitted because they cannot be read. */
  readonly skipped: number;
  /** Number of omitted documents by cause. */
  readonly skipped_causes: SkippedCauses;
}

export interface ConstraintTypes {
  /** Parameter names of each constraint class, in form order. */
  readonly types: Readonly<Record<string, readonly string[]>>;
  /** Constraint classes with all details. */
  readonly specs: readonly TypeSpec[];
}

export interface ContributionPayload {
  /** Asset identifier. */
  readonly asset_id: string;
  /** Mean weight at the beginning of the periods. */
  readonly average_weight: number;
  /** Linked contribution to the total return. */
  readonly contribution: number;
  /** Last level divided by the first, less 1. */
  readonly total_return: number;
}

export interface CorporateAction {
  /** Type of the corporate action. */
  readonly type: 'DIVIDEND' | 'SPECIAL_DIVIDEND' | 'RETURN_OF_CAPITAL' | 'SPLIT' | 'STOCK_DIVIDEND' | 'BONUS_ISSUE' | 'RIGHTS_ISSUE' | 'SPIN_OFF' | 'MERGER' | 'ACQUISITION' | 'DELISTING' | 'TICKER_CHANGE';
  /** Meaning of value: an amount per share, which can be summed; a share-count multiplier, which compounds; or a value that cannot be summed. */
  readonly kind: 'cash' | 'ratio' | 'structural';
  /** As in the store. Dividends and returns of capital: cash per share. Splits, stock dividends and bonus issues: share-count multiplier. Rights issue: new shares per share held. Spin-off or merger: shares of `related` per share held. Acquisition or delisting: price paid per share. */
  readonly value: number | null;
  /** First day without the entitlement. */
  readonly ex_date: string;
  /** Null: unknown. */
  readonly pay_date: string | null;
  /** Null: unknown. */
  readonly status: 'announced' | 'paid' | 'cancelled' | null;
  /** Day of the announcement. */
  readonly announced: string | null;
  /** Other identifier of a spin-off, merger or change of ticker. */
  readonly related: string | null;
  /** Price of a new share in a rights issue. */
  readonly subscription_price: number | null;
  /** Cash per share that a merger pays in addition to the shares of `related`; null if it pays none. */
  readonly cash: number | null;
  /** New shares per share held that can be chosen instead of a dividend; null if there is no choice. */
  readonly scrip_ratio: number | null;
  /** Last day of the election; null if unknown. */
  readonly election_date: string | null;
  /** Default of the election; null if unknown. */
  readonly election_default: 'cash' | 'shares' | 'take_up' | 'sell' | 'sell_to_fund' | 'lapse' | null;
}

export interface CorporateActionsResponse {
  /** Asset identifier. */
  readonly identifier: string;
  /** Actions by ex-date, ascending. */
  readonly actions: readonly CorporateAction[];
  /** Compounded share-count multiplier of the actions with a ratio in the window that are not cancelled. */
  readonly cumulative_split_ratio: number;
  /** Date on which the trailing figures end, YYYY-MM-DD. */
  readonly as_of: string;
  /** Ordinary dividends per share over the twelve calendar months that end on the as-of date, on the share basis of that date. */
  readonly trailing_dividend: number;
  /** trailing_dividend divided by the close on the as-of date; null without a price. */
  readonly trailing_dividend_yield: number | null;
}

/** Uncertainty set around the estimated covariances. */
export interface CovarianceUncertainty {
  /** Maximum error of each covariance, as a fraction of the product of the two volatilities. */
  readonly radius: number;
}

/** Constituents that are traded on the session have a price. The check measures the weight of the constituents with a price. */
export interface CoverageCheck {
  readonly check: 'coverage';
  /** Findings block the index (block), or are only reported (warn). Default: block. */
  readonly severity: 'block' | 'warn';
  /** Minimum weight of the constituents with a price. */
  readonly minimum: number;
}

/** Constituents that are traded on the session have a price. The check measures the weight of the constituents with a price. */
export interface CoverageCheckInput {
  readonly check: 'coverage';
  /** Findings block the index (block), or are only reported (warn). Default: block. */
  readonly severity?: 'block' | 'warn' | undefined;
  /** Minimum weight of the constituents with a price. */
  readonly minimum?: number | undefined;
}

export interface CoverageHistoryResponse {
  /** The data store. */
  readonly store_id: string;
  /** Dates on which any security has a bar, ascending. */
  readonly dates: readonly string[];
  /** Securities with a price on each date. */
  readonly priced: readonly number[];
  /** Number of securities with a first price on or before the date and a last price on or after it. If such a security has no price on the date, its exchange was closed or its bar is missing. */
  readonly expected: readonly number[];
  /** The 1,000 securities with the most missing prices, sorted by their number. */
  readonly gaps: readonly PriceGaps[];
  /** Number of securities with missing prices. */
  readonly gaps_total: number;
  /** Values of the columns of the market and reference data. */
  readonly fields: readonly FieldCoverage[];
}

export interface CoverageResponse {
  /** Coverage by table. */
  readonly datasets: readonly DatasetCoverage[];
  /** Number of distinct identifiers in all datasets. */
  readonly identifiers_union: number;
  /** Bytes on disk of the whole store; null when no store is served. */
  readonly cache_size_bytes: number | null;
}

/** Keeps the best securities until they cover a fraction of the total. Constituents stay within a buffer or a band. */
export interface CumulativeCoverageParams {
  /** Datapoint whose total is covered. */
  readonly field?: string | DatapointInput | ExpressionNodeInput | undefined;
  /** Fraction of the total that is covered. The security that crosses it is kept. Unit: fraction. */
  readonly coverage: number;
  /** Constituents stay up to the coverage plus this value. Unit: fraction. */
  readonly buffer?: number | undefined;
  /** Column whose values define groups. The rule is applied to each group separately. Securities without a value form one group. */
  readonly group_by?: string | null | undefined;
  /** Datapoint of the ranking. Default: the coverage field. */
  readonly rank_field?: string | DatapointInput | ExpressionNodeInput | null | undefined;
  /** True ranks the smallest values first. */
  readonly ascending?: boolean | undefined;
  /** Securities outside the index enter up to this coverage, before constituents are considered. Unit: fraction. */
  readonly lower?: number | null | undefined;
  /** Constituents stay up to this coverage. The best other securities then fill up to the coverage. Unit: fraction. */
  readonly upper?: number | null | undefined;
  /** Treatment of a security without a value of the datapoint. In a ranking, an included security without a value is last. */
  readonly missing?: 'exclude' | 'include' | undefined;
}

export interface CumulativeCoverageRule {
  /** Id of the rule, unique within the pipeline. */
  readonly id: string;
  readonly type: 'CumulativeCoverage';
  /** Parameters of the type, by name. */
  readonly params?: CumulativeCoverageParams | undefined;
  /** Parameters that are tried, in order, if the rule keeps too few securities. */
  readonly fallback?: readonly RuleFallback[] | undefined;
}

/** The index in another currency, hedged with one-month forwards: as a whole, or by the currencies of its securities. */
export interface CurrencyHedgedOverlay {
  readonly type: 'currency_hedged';
  /** Currency of the overlay. */
  readonly to: string;
  /** Fraction that is hedged. */
  readonly ratio: number;
  /** Interest rates for the prices of forwards. */
  readonly rates: {
    /** Series of the data with the rate of the currency of the overlay, percent per year. */
    readonly domestic: string;
    /** Series of the data with the rate of the currency of the underlying index, percent per year. */
    readonly foreign?: string | undefined;
  };
  /** Hedges each of these currencies by the weight of its securities, instead of the whole index by `rates.foreign`. Other currencies are not hedged. */
  readonly currencies?: readonly ({
    /** Currency in which securities are quoted. */
    readonly currency: string;
    /** Series of the data with the rate of that currency, percent per year. */
    readonly rate: string;
    /** Hedged fraction of this currency, instead of `ratio`. */
    readonly ratio?: number | undefined;
  })[] | undefined;
  /** Dates on which the hedged amount is reset to the level. */
  readonly adjust: 'monthly' | 'daily';
  /** Number of days per year. */
  readonly basis: 360 | 365;
}

/** The index in another currency, hedged with one-month forwards: as a whole, or by the currencies of its securities. */
export interface CurrencyHedgedOverlayInput {
  readonly type: 'currency_hedged';
  /** Currency of the overlay. */
  readonly to: string;
  /** Fraction that is hedged. */
  readonly ratio?: number | undefined;
  /** Interest rates for the prices of forwards. */
  readonly rates: {
    /** Series of the data with the rate of the currency of the overlay, percent per year. */
    readonly domestic: string;
    /** Series of the data with the rate of the currency of the underlying index, percent per year. */
    readonly foreign?: string | undefined;
  };
  /** Hedges each of these currencies by the weight of its securities, instead of the whole index by `rates.foreign`. Other currencies are not hedged. */
  readonly currencies?: readonly ({
    /** Currency in which securities are quoted. */
    readonly currency: string;
    /** Series of the data with the rate of that currency, percent per year. */
    readonly rate: string;
    /** Hedged fraction of this currency, instead of `ratio`. */
    readonly ratio?: number | undefined;
  })[] | undefined;
  /** Dates on which the hedged amount is reset to the level. */
  readonly adjust?: 'monthly' | 'daily' | undefined;
  /** Number of days per year. */
  readonly basis?: 360 | 365 | undefined;
}

/** The index in another currency, without a hedge. */
export interface CurrencyOverlay {
  readonly type: 'currency';
  /** Currency of the overlay. */
  readonly to: string;
}

export interface DataAudit {
  /** The data store. */
  readonly store_id: string;
  /** Hash of the content that was checked. */
  readonly content_hash: string;
  /** Data warnings by date and identifier; at most the 1000 with the highest confidence. */
  readonly doubts: readonly DataDoubt[];
  /** Total number, including entries that are not listed. */
  readonly total: number;
  /** Dates on which only some securities have a bar, latest first, with their counts. Gaps of the whole market (GAP_LONG) follow, each at the date after the gap. */
  readonly partial_dates: readonly Finding[];
}

export interface DataCell {
  /** Dataset of the value. */
  readonly table: string;
  /** Asset identifier. */
  readonly identifier: string;
  /** Date of the value; null for a value that is always valid. */
  readonly date: string | null;
  /** Column of the value. */
  readonly field: string;
  /** Value before the change; null if there was none. */
  readonly before: string | number | boolean | null;
  /** Value after the change; null if there is none. */
  readonly after: string | number | boolean | null;
}

export interface DataChange {
  readonly table: 'market' | 'corporate_actions';
  /** Asset identifier. */
  readonly identifier: string;
  /** The date. */
  readonly date: string;
  /** Datapoint or reference column. */
  readonly field: string;
  /** New value; null removes the bar or the action. */
  readonly value: unknown;
  /** The value is a whole row that is added. */
  readonly added?: true | undefined;
}

export interface DataDifference {
  /** The earlier version. */
  readonly from: number;
  /** The later version. */
  readonly to: number;
  /** Number of values, up to the last date of the first version, that differ or that only one version contains. */
  readonly cells: number;
  /** Number of new rows. */
  readonly rows_added: number;
  /** Number of changed rows. */
  readonly rows_changed: number;
  /** Number of removed rows. */
  readonly rows_removed: number;
  /** Bars of sessions after the last session of the first version; null if there are none. */
  readonly appended: {
    /** Number of new sessions. */
    readonly sessions: number;
    /** Number of bars on these sessions, included in rows_added. */
    readonly rows: number;
    /** The first new session, YYYY-MM-DD. */
    readonly start: string;
    /** The last new session, YYYY-MM-DD. */
    readonly end: string;
  } | null;
  /** The first of these values, by date. With `appended`, values of appended bars follow. */
  readonly changes: readonly DataCell[];
  /** True if `limit` omitted some of these values. */
  readonly cut: boolean;
}

export interface DataDoubt {
  /** Id of the data warning in a request for repairs. It does not change while the data is unchanged. */
  readonly id: string;
  /** Kind of the object. */
  readonly kind: 'unexplained_jump' | 'missed_split' | 'currency_flip' | 'duplicate_bar' | 'stale_tail' | 'volume_without_trade' | 'exchange_rate' | 'unknown_currency' | 'action_terms' | 'dividend_size' | 'dividend_duplicate' | 'dividend_not_adjusted';
  /** Asset identifier. */
  readonly identifier: string;
  /** The date. */
  readonly date: string;
  /** Confidence of the data warning, 0 to 1. */
  readonly confidence: number;
  /** Message in one sentence. */
  readonly message: string;
  /** Figures on which the data warning is based. */
  readonly evidence: Readonly<Record<string, number | string>>;
  /** Repair; null if the data does not show the correct value. */
  readonly repair: DataRepair | null;
}

/** Change of the data that resolves a data warning. Days are inclusive. */
export type DataRepair = {
  readonly kind: 'scale';
  /** Asset identifier. */
  readonly identifier: string;
  /** First day of the change. */
  readonly from: string;
  /** Last day of the change. */
  readonly to: string;
  /** Columns that are scaled. */
  readonly columns: readonly string[];
  /** Factor by which the values are multiplied. */
  readonly factor: number;
  /** Columns of share counts. On these days, their values are divided by the factor. */
  readonly inverse_columns?: readonly string[] | undefined;
} | {
  readonly kind: 'remove_values';
  /** Asset identifier. */
  readonly identifier: string;
  /** First day of the change. */
  readonly from: string;
  /** Last day of the change. */
  readonly to: string;
  /** Columns that are scaled. */
  readonly columns: readonly string[];
} | {
  readonly kind: 'insert_action';
  /** The corporate action. */
  readonly action: {
    /** Asset identifier. */
    readonly identifier: string;
    /** Type of the corporate action. */
    readonly type: string;
    /** The value. */
    readonly value: number;
    /** First day without the entitlement. */
    readonly ex_date: string;
  };
} | {
  readonly kind: 'replace_action';
  /** The corporate action. */
  readonly action: {
    /** Asset identifier. */
    readonly identifier: string;
    /** Type of the corporate action. */
    readonly type: string;
    /** The value. */
    readonly value: number;
    /** First day without the entitlement. */
    readonly ex_date: string;
  };
  /** The value. */
  readonly value: number;
  /** New day; absent if the day does not change. */
  readonly ex_date?: string | undefined;
} | {
  readonly kind: 'remove_action';
  /** The corporate action. */
  readonly action: {
    /** Asset identifier. */
    readonly identifier: string;
    /** Type of the corporate action. */
    readonly type: string;
    /** The value. */
    readonly value: number;
    /** First day without the entitlement. */
    readonly ex_date: string;
  };
};

export interface DataSourceStatus {
  /** True if a data source is attached. */
  readonly configured: boolean;
  /** Number of distinct identifiers of the market dataset. */
  readonly identifiers: number;
}

export interface DataStore {
  /** The data store. */
  readonly store_id: string;
  /** Display name. */
  readonly name: string;
  /** Source of the data. */
  readonly kind: 'folder' | 'database' | 'imported' | 'synthetic';
  /** True if the service created the folder. The folder is then deleted with the store. */
  readonly managed: boolean;
  /** True for the served store; at most one store is served. */
  readonly active: boolean;
  /** `writing`: the store is being generated and cannot be read yet. */
  readonly status: 'writing' | 'ready' | 'loading' | 'refreshing' | 'error';
  /** Folder, or database URL with the password replaced by ***. */
  readonly location: string | null;
  /** Source of a refresh. */
  readonly source: string | null;
  /** False if a refresh is refused with NOTHING_TO_REFRESH. */
  readonly refreshable: boolean;
  /** Price basis of CLOSE: as traded, divided by later splits, or by splits and dividends. */
  readonly adjustment: 'none' | 'splits' | 'total';
  /** Currency of securities without a CURRENCY: an ISO 4217 code, or a minor unit such as GBX (pence). Null if the store has no default currency. */
  readonly currency: string | null;
  /** Mapping of the market; null if the tables need no mapping. */
  readonly mapping: Mapping | null;
  /** Number of actions that were derived from adjusted closes at the last load; null without adjusted closes. */
  readonly derived_actions: DerivedActions | null;
  /** Number of versions of the data that are kept, including the last version; null keeps all. If a stored run or a published close refers to a version, this version and all later versions are kept. */
  readonly versions_kept: number | null;
  /** Time of creation, ISO-8601 UTC with offset. */
  readonly created_at: string;
  /** Time of the last load. */
  readonly last_loaded_at: string | null;
  /** Time of the last refresh. */
  readonly last_refreshed_at: string | null;
  /** Number of distinct identifiers of the market dataset; null before the first load. */
  readonly identifiers: number | null;
  /** First date of the market. */
  readonly start: string | null;
  /** Last date of the market. */
  readonly end: string | null;
  /** Size of the files in bytes; null before the first load and for a database server. */
  readonly size_bytes: number | null;
  /** SHA-256 of the canonical content. It changes if and only if a value changes, regardless of the files. */
  readonly content_hash: string | null;
  /** Number of rows per dataset at the last load: rows that were read, and actions that were derived from adjusted closes. */
  readonly rows: Readonly<Record<string, number>> | null;
  /** Every file of the last load with its SHA-256. Omitted in lists. */
  readonly files?: readonly {
    /** Name of the file. */
    readonly label: string;
    /** Size in bytes. */
    readonly bytes: number;
    /** SHA-256 of its bytes. */
    readonly sha256: string;
  }[] | undefined;
  /** Data warnings of the last load, at most 201. Omitted in lists. */
  readonly findings?: readonly Finding[] | undefined;
  /** Changes of the source that were accepted at a start. The next refresh reports them; afterwards null. */
  readonly taken_at_start: {
    /** Number of new dates. */
    readonly dates_added: number;
    /** Number of bars; 0 if the previous data is lost and the history has changed. */
    readonly rows_added: number;
    /** Number of new securities. */
    readonly identifiers_added: number;
    /** HISTORY_CHANGED, SPLIT_RESTATED, LATE_BARS or DATES_ADDED. */
    readonly findings: readonly Finding[];
  } | null;
  /** Reason for the status error. */
  readonly error: ErrorDetail | null;
}

export interface DataStoreCollection {
  /** Stores by id. */
  readonly stores: readonly DataStore[];
  /** Id of the served data store. */
  readonly active: string | null;
  /** Number of stored documents that are omitted because they cannot be read. */
  readonly skipped: number;
  /** Number of omitted documents by cause. */
  readonly skipped_causes: SkippedCauses;
}

export interface DataStoreCreate {
  /** Id of the store. Default: the name in lower case, with dashes for other characters. */
  readonly store_id?: string | undefined;
  /** Display name. */
  readonly name: string;
  /** Kind of the object. */
  readonly kind: 'folder' | 'database';
  /** Absolute path of a folder, or a connection URL: sqlite:///path, duckdb:///path, postgresql://user:password@host:port/database. The operator must allow the location. */
  readonly location: string;
  /** File or table of a dataset, if its name differs from the name of the dataset. */
  readonly tables?: Readonly<Record<string, string>> | undefined;
  /** Price basis of CLOSE: as traded, divided by later splits, or by splits and dividends. */
  readonly adjustment?: 'none' | 'splits' | 'total' | undefined;
  /** Currency of securities without a CURRENCY: an ISO 4217 code, or a minor unit such as GBX (pence). Null if the store has no default currency. */
  readonly currency?: string | null | undefined;
  /** Mapping of the market, if its tables have another format. POST /data/inspect proposes a mapping. */
  readonly mapping?: MappingInput | null | undefined;
  /** True serves the store immediately. */
  readonly activate?: boolean | undefined;
}

export interface DataStoreUpdate {
  /** Display name. */
  readonly name?: string | undefined;
  /** Source of a refresh. */
  readonly source?: string | null | undefined;
  /** Price basis of CLOSE: as traded, divided by later splits, or by splits and dividends. */
  readonly adjustment?: 'none' | 'splits' | 'total' | undefined;
  /** Currency of securities without a CURRENCY: an ISO 4217 code, or a minor unit such as GBX (pence). Null if the store has no default currency. */
  readonly currency?: string | null | undefined;
  /** Members of the mapping that change. Null removes the mapping. The change applies the next time the source is read. */
  readonly mapping?: MappingChange | null | undefined;
  /** Number of versions of the data that are kept, including the last version; null keeps all. If a stored run or a published close refers to a version, this version and all later versions are kept. */
  readonly versions_kept?: number | null | undefined;
}

export interface DataVersion {
  /** Number of the version, from 1 without gaps. */
  readonly version: number;
  /** SHA-256 of the content. */
  readonly content_hash: string;
  /** Time from which the version was served, ISO-8601 UTC with offset. */
  readonly known_at: string;
  /** Origin of the version. `reload`: the source had changed when it was read at a start or an activation. */
  readonly source: 'import' | 'append' | 'replace' | 'refresh' | 'reload' | 'repair' | 'synthetic';
  /** Number of new rows. */
  readonly rows_added: number;
  /** Number of changed rows. */
  readonly rows_changed: number;
  /** Number of removed rows. */
  readonly rows_removed: number;
  /** Name of the key of the request; `local` without keys, and for changes found at a start. */
  readonly author: string;
  /** X-Change-Note of the request; null if there is none. */
  readonly note: string | null;
  /** Id of the request; empty if the service acted without a request. */
  readonly request_id: string;
  /** True if the version can be used with `as_known_on`. */
  readonly readable: boolean;
}

export interface DataVersions {
  /** Newest first. */
  readonly versions: readonly DataVersion[];
  /** Number of stored versions, listed or not. */
  readonly total: number;
  /** Number of stored documents that are omitted because they cannot be read. */
  readonly skipped: number;
  /** Number of omitted documents by cause. */
  readonly skipped_causes: SkippedCauses;
  /** Copy of the latest data of a folder or a database, which is used after its source has changed. `pending`: the copy is written after the response that served the data. `missing`: the data exceeds `MAX_COPIED_CONTENT_BYTES`, the disk had too little space, or the copy was interrupted. If a missing copy can be written, it is written when the store is next read. Null if the files of the service are the copy. */
  readonly copy: 'made' | 'pending' | 'missing' | null;
}

/** Datapoint with window, lag, aggregate and transform. It is read for every security on or before the decision date. */
export interface Datapoint {
  /** Name of a column or derived datapoint, in exact spelling. */
  readonly name: string;
  /** Table of the datapoint. Null uses the first of market, reference and derived that has the datapoint. */
  readonly dataset: 'market' | 'reference' | 'derived' | null;
  /** Number of sessions before the decision date. */
  readonly lag: number;
  /** Number of trailing sessions. Sessions without a price bar are skipped. Required if the aggregate is not last. */
  readonly window: number | null;
  /** Aggregation of a window to one value. */
  readonly aggregate: 'last' | 'mean' | 'median' | 'sum' | 'min' | 'max' | 'std' | 'count';
  /** Transform across the remaining securities with a value. */
  readonly transform: 'none' | 'rank' | 'percentile' | 'zscore';
}

/** Analysis of an expression, for an editor. */
export interface DatapointEvaluation {
  /** True if no finding is an error. */
  readonly valid: boolean;
  /** Canonical text; null if the expression cannot be parsed. */
  readonly text: string | null;
  /** Canonical tree: an ExpressionNode. */
  readonly tree: Readonly<Record<string, unknown>> | null;
  /** Unit of the values, such as `money` or `number`; null for an unknown unit and for a condition. */
  readonly unit: string | null;
  /** Session of the values; null without values. */
  readonly as_of: string | null;
  /** Values of the requested securities, or of the first securities with a value. */
  readonly values: readonly ({
    /** Asset identifier. */
    readonly identifier: string;
    /** Value; null if it is missing. */
    readonly value: number | string | boolean | null;
  })[];
  /** Findings, most severe first. */
  readonly findings: readonly Finding[];
}

/** Datapoint with window, lag, aggregate and transform. It is read for every security on or before the decision date. */
export interface DatapointInput {
  /** Name of a column or derived datapoint, in exact spelling. */
  readonly name: string;
  /** Table of the datapoint. Null uses the first of market, reference and derived that has the datapoint. */
  readonly dataset?: 'market' | 'reference' | 'derived' | null | undefined;
  /** Number of sessions before the decision date. */
  readonly lag?: number | undefined;
  /** Number of trailing sessions. Sessions without a price bar are skipped. Required if the aggregate is not last. */
  readonly window?: number | null | undefined;
  /** Aggregation of a window to one value. */
  readonly aggregate?: 'last' | 'mean' | 'median' | 'sum' | 'min' | 'max' | 'std' | 'count' | undefined;
  /** Transform across the remaining securities with a value. */
  readonly transform?: 'none' | 'rank' | 'percentile' | 'zscore' | undefined;
}

export interface DatapointRequest {
  /** Expression, as text or as nodes. */
  readonly expression: string | Readonly<Record<string, unknown>>;
  /** ExpressionFilter, and the first operand of `if`, accept a condition. */
  readonly expects?: 'number' | 'condition' | undefined;
  /** Expressions to which the expression refers, as in an index document. */
  readonly datapoints?: Readonly<Record<string, string | Readonly<Record<string, unknown>>>> | undefined;
  /** Plug-ins to which the expression refers, as in an index document. */
  readonly plugins?: Readonly<Record<string, {
    /** Id of the stored plug-in. Its version when the index is computed is used. */
    readonly plugin: string;
    /** Values of parameters. Omitted parameters have their defaults. */
    readonly parameters?: Readonly<Record<string, number | string | boolean>> | undefined;
    /** Plug-in with which a run was computed; only in the documents of runs. Ignored in requests. */
    readonly code?: {
      /** Kind of the object. */
      readonly kind: 'datapoint' | 'selection' | 'weighting';
      /** SHA-256 of the stored plug-in. */
      readonly sha256: string;
      /** Inputs, in the order of the program. */
      readonly inputs: readonly {
        /** Display name. */
        readonly name: string;
        /** Expression that computes the values. */
        readonly expression: ExpressionNodeInput;
        /** Number of trailing sessions. Each session has one value for each security. */
        readonly sessions: number;
      }[];
      /** Parameters, with defaults for omitted parameters. */
      readonly parameters: Readonly<Record<string, number | string | boolean>>;
      /** Source code of the plug-in. */
      readonly source: string;
    } | undefined;
  }>> | undefined;
  /** Universe, as in an index document. Default: all securities. */
  readonly universe?: UniverseSpecInput | undefined;
  /** Exchange calendar. Default: the preselected calendar. */
  readonly calendar?: string | undefined;
  /** Currency of amounts of money. */
  readonly currency?: string | undefined;
  /** Decision date. Default: the latest date of the store. */
  readonly as_of?: string | null | undefined;
  /** Securities whose values are returned. Default: the first securities with a value. */
  readonly identifiers?: readonly string[] | undefined;
}

export interface DatasetCoverage {
  /** Name of the table. */
  readonly dataset: 'market' | 'reference';
  /** True if the dataset is loaded. */
  readonly configured: boolean;
  /** Distinct identifiers. */
  readonly identifiers: number;
  /** Earliest date of the data. */
  readonly start: string | null;
  /** Latest date of the data. */
  readonly end: string | null;
  /** Number of data columns, excluding the keys. */
  readonly field_count: number;
  /** Update frequency of the dataset, which determines when it is stale. */
  readonly frequency: 'daily' | 'static' | 'event';
  /** Age beyond which the dataset is stale; null if not applicable. */
  readonly stale_after_seconds: number | null;
  /** Seconds since the last load. */
  readonly cache_age: number | null;
  /** Time of the last load. */
  readonly last_refreshed: string | null;
  /** Bytes on disk. */
  readonly cache_size_bytes: number | null;
  /** Source of the data: local, database, imported or synthetic. */
  readonly source: string | null;
}

export interface DateRule {
  /** Date rule: a number of sessions before the effective date; the last session, a weekday or a day of the month of the effective date or an earlier month; or the last such weekday at least some weeks before. A day that is not a session moves to the previous session. */
  readonly rule: 'sessions_before' | 'last_session' | 'nth_weekday' | 'day_of_month' | 'weekday_before';
  /** Number of sessions before the effective date. */
  readonly sessions?: number | undefined;
  /** Number of months before the month of the effective date. Default: 1 for last_session, otherwise 0. */
  readonly months_before?: number | undefined;
  /** Number of the weekday in the month, from 1. 5 is the last one. */
  readonly nth?: number | undefined;
  /** Weekday: 0 is Monday, 4 is Friday. */
  readonly weekday?: number | undefined;
  /** Day of the month. In a shorter month, the last day is used. */
  readonly day?: number | undefined;
  /** Minimum number of weeks before the effective date. */
  readonly weeks?: number | undefined;
}

export interface DayBackfill {
  /** First session. */
  readonly start: string;
  /** Last session. */
  readonly end: string;
  /** Reason, which the register of decisions records. */
  readonly reason?: string | null | undefined;
}

export interface DayRun {
  /** Steps whose results are discarded first. Their files are written again. */
  readonly again?: readonly ('refresh' | 'checks' | 'run' | 'compare' | 'publish' | 'export' | 'render' | 'deliver')[] | undefined;
  /** Reason, which the register of decisions records. */
  readonly reason?: string | null | undefined;
}

export interface DaySkip {
  /** Reason, which the register of decisions records. */
  readonly reason: string;
}

export interface DayWaiver {
  /** Check whose findings are accepted. */
  readonly check: 'coverage' | 'staleness' | 'moves' | 'history' | 'actions' | 'confirmed_actions' | 'weights' | 'divisor' | 'limits' | 'second_source' | 'published';
  /** Index of the waiver, which also covers the indices that depend on it. Default: every index of the schedule. */
  readonly index_id?: string | null | undefined;
  /** Security or series of the finding. Default: every finding of the check. */
  readonly identifier?: string | null | undefined;
  /** Reason, which the register of decisions records. */
  readonly reason: string;
}

/** Distribution over the traded securities of all accounts; quantiles of type 7. */
export interface DaysToTrade {
  /** Median. */
  readonly p50: number | null;
  /** 90th percentile over the securities. */
  readonly p90: number | null;
  /** Maximum over the securities. */
  readonly max: number | null;
}

/** Difference from published closes, with the decision; null if there is none. */
export type DecidedError = {
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** Time of the decision, ISO-8601 UTC with offset. */
  readonly at: string;
  /** Name of the key; for a schedule, its author. */
  readonly author: string;
  /** `restated`: closes were published again. `announced` and `left`: published closes did not change. */
  readonly decision: 'restated' | 'announced' | 'left';
  /** Policy of the decision; null for a decision of a person. */
  readonly policy: ErrorPolicy | null;
  /** First date with a difference. */
  readonly first: string;
  /** Last date that differs. */
  readonly last: string;
  /** Number of dates with a difference. */
  readonly dates: number;
  /** First date with a material difference. Null if there is none, and for a decision without a policy. */
  readonly material_from: string | null;
  /** Closes that were published again. */
  readonly restated: number;
  /** Largest change of a level; null if only divisor or composition differ. */
  readonly largest: LevelChange | null;
  /** Run with the difference. */
  readonly run_id: string;
  /** Reason for the decision. */
  readonly reason: string;
  /** Notice for clients. */
  readonly notice: string;
  /** SHA-256 of the differences. Equal differences are registered once. */
  readonly digest: string;
} | null;

/** The index less a synthetic dividend per year, in percent or in points, which is subtracted every day. */
export interface DecrementOverlay {
  readonly type: 'decrement';
  /** Percent per year: 5 is 5%. */
  readonly percent: number | null;
  /** Index points per year, instead of percent. */
  readonly points: number | null;
  /** Number of days per year. */
  readonly basis: 360 | 365;
  /** Method of subtracting percent. */
  readonly method: 'geometric' | 'arithmetic';
}

/** The index less a synthetic dividend per year, in percent or in points, which is subtracted every day. */
export interface DecrementOverlayInput {
  readonly type: 'decrement';
  /** Percent per year: 5 is 5%. */
  readonly percent?: number | null | undefined;
  /** Index points per year, instead of percent. */
  readonly points?: number | null | undefined;
  /** Number of days per year. */
  readonly basis?: 360 | 365 | undefined;
  /** Method of subtracting percent. */
  readonly method?: 'geometric' | 'arithmetic' | undefined;
}

export interface DefinitionChange {
  /** Date from which the change applies, if it is an amendment; null for a change of the whole history. */
  readonly effective_from: string | null;
  /** Date of the announcement; null if there is none. */
  readonly announced: string | null;
  /** Reason of an amendment; null if there is none. */
  readonly reason: string | null;
  /** True if the index is rebalanced on the date. */
  readonly rebalance: boolean;
  /** Changed members; at most 200. */
  readonly fields: readonly ChangedField[];
  /** Sentences of the methodology that no longer apply. */
  readonly removed: readonly string[];
  /** New sentences of the methodology. */
  readonly added: readonly string[];
}

/** Fields of a definition that do not belong to a class. */
export interface DefinitionFields {
  /** Fields of the document itself. */
  readonly index: readonly ParameterSpec[];
  /** Of `universe`. */
  readonly universe: readonly ParameterSpec[];
  /** Of `rebalance`. */
  readonly rebalance: readonly ParameterSpec[];
  /** Fields of the list `reviews` of the document. */
  readonly reviews: readonly ParameterSpec[];
  /** Of `pipeline.treatment`. */
  readonly treatment: readonly ParameterSpec[];
  /** Fields of `pipeline.weighting` in addition to the parameters of its class. */
  readonly weighting: readonly ParameterSpec[];
  /** Fields of `derivation` in addition to its objective and constraint rows. */
  readonly derivation: readonly ParameterSpec[];
  /** Fields of `events`, the changes between reviews. */
  readonly events: readonly ParameterSpec[];
}

export interface DeletedIndex {
  /** Deleted index. */
  readonly index_id: string;
  /** True if a stored record was deleted too. */
  readonly backtest_record_deleted: boolean;
  /** Number of deleted job records and stored results. */
  readonly backtest_results_deleted: number;
  /** Parent of a derived index; null for the index of the request. */
  readonly derived_from: string | null;
}

/** Delivers the files of earlier steps to the targets of clients, according to their entitlements. A failed delivery does not block other steps. */
export interface DeliverStep {
  readonly type: 'deliver';
  /** Clients. Default: every client that is entitled to a file. */
  readonly clients: readonly string[] | null;
}

/** Delivers the files of earlier steps to the targets of clients, according to their entitlements. A failed delivery does not block other steps. */
export interface DeliverStepInput {
  readonly type: 'deliver';
  /** Clients. Default: every client that is entitled to a file. */
  readonly clients?: readonly string[] | null | undefined;
}

export interface DeliveredFile {
  /** Name of the target. */
  readonly target: string;
  /** Path or name at the target. */
  readonly path: string;
  /** Name of the file of the day. */
  readonly file: string;
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** Table of the file; `report` for a rendered report. */
  readonly table: string;
  /** Size in bytes. */
  readonly bytes: number;
  /** SHA-256 of its bytes. */
  readonly sha256: string;
  /** Result so far. */
  readonly state: 'waiting' | 'sending' | 'delivered' | 'failed';
  /** Number of attempts to deliver the file. */
  readonly attempts: number;
  /** Number of attempts of the day in which the delivery was attempted. */
  readonly rounds: number;
  /** Time of the delivery. */
  readonly delivered_at: string | null;
  /** Error code of the last failure. */
  readonly code: string | null;
  /** Description of the result in a sentence. */
  readonly message: string;
}

export interface Deliveries {
  /** Days, newest first. */
  readonly deliveries: readonly DeliveryRecord[];
}

export interface DeliveryLine {
  /** Time of the line. */
  readonly at: string;
  /** Name of the target. */
  readonly target: string;
  /** File of the line; null for the whole target. */
  readonly path: string | null;
  /** Message in one sentence. */
  readonly message: string;
}

export interface DeliveryRecord {
  /** The client. */
  readonly client_id: string;
  /** The schedule. */
  readonly schedule_id: string;
  /** Session. */
  readonly date: string;
  /** Version of the client that determines its entitlements. */
  readonly version: number | null;
  /** Files by target. */
  readonly files: readonly DeliveredFile[];
  /** Attempts and results, the last 500 lines. */
  readonly log: readonly DeliveryLine[];
}

export interface DerivationPayload {
  /** Parent of the derived index; it cannot be changed. */
  readonly source_index_id: string;
  /** Objective: an object with a type of `/optimise/objective-types` and its parameters, or only the type. A derived index accepts only the type `min_tracking_error` without an object. */
  readonly objective: string | {
    /** Class name. */
    readonly type: string;
  };
  /** Expected returns of the objective: a model of `/optimise/objective-types` with its parameters. */
  readonly expected_returns?: {
    /** Class name. */
    readonly type: string;
  } | null | undefined;
  /** Uncertainty sets of expected returns and covariances; the objective is optimised for the worst case. */
  readonly uncertainty?: Uncertainty | null | undefined;
  /** Trading costs, linear and market impact. In a result, their sum as a fraction of value. */
  readonly costs?: TradeCosts | null | undefined;
  /** Covariance for the objective, the constraints and the results: the id of a stored model, or an estimator. Null: the default estimator. */
  readonly risk_model?: string | RiskEstimator | null | undefined;
  /** Securities that can be held: the securities of the index (default), or every security of its universe with a price. Securities outside the index have an index weight of 0. */
  readonly candidates?: 'parent' | 'universe' | undefined;
  /** Constraints. Without constraints, weights are long-only and add up to 1. */
  readonly constraints: readonly ConstraintRow[];
  /** Constraints that are relaxed step by step, in this order, at rebalances with an infeasible problem. Constraints with a priority are relaxed afterwards. */
  readonly relax?: readonly RelaxEntry[] | undefined;
}

export interface DerivationPayloadInput {
  /** Parent of the derived index; it cannot be changed. */
  readonly source_index_id: string;
  /** Objective: an object with a type of `/optimise/objective-types` and its parameters, or only the type. A derived index accepts only the type `min_tracking_error` without an object. */
  readonly objective?: string | {
    /** Class name. */
    readonly type: string;
  } | undefined;
  /** Expected returns of the objective: a model of `/optimise/objective-types` with its parameters. */
  readonly expected_returns?: {
    /** Class name. */
    readonly type: string;
  } | null | undefined;
  /** Uncertainty sets of expected returns and covariances; the objective is optimised for the worst case. */
  readonly uncertainty?: UncertaintyInput | null | undefined;
  /** Trading costs, linear and market impact. In a result, their sum as a fraction of value. */
  readonly costs?: TradeCostsInput | null | undefined;
  /** Covariance for the objective, the constraints and the results: the id of a stored model, or an estimator. Null: the default estimator. */
  readonly risk_model?: string | RiskEstimatorInput | null | undefined;
  /** Securities that can be held: the securities of the index (default), or every security of its universe with a price. Securities outside the index have an index weight of 0. */
  readonly candidates?: 'parent' | 'universe' | undefined;
  /** Constraints. Without constraints, weights are long-only and add up to 1. */
  readonly constraints?: readonly ConstraintRowInput[] | undefined;
  /** Constraints that are relaxed step by step, in this order, at rebalances with an infeasible problem. Constraints with a priority are relaxed afterwards. */
  readonly relax?: readonly RelaxEntry[] | undefined;
}

/** Corporate actions that were derived from adjusted closes. */
export interface DerivedActions {
  /** Number of derived dividends. */
  readonly dividends: number;
  /** Number of derived splits. */
  readonly splits: number;
}

/** Explanation of the weight in the parent, at the rebalance that was optimised, and of the optimisation. */
export interface DerivedSource {
  /** Parent of the derived index; it cannot be changed. */
  readonly source_index_id: string;
  /** Objective: an object with a type of `/optimise/objective-types` and its parameters, or only the type. A derived index accepts only the type `min_tracking_error` without an object. */
  readonly objective: string;
  /** Weight in the parent, from which the optimisation starts; null if the security is not a candidate. */
  readonly source_weight: number | null;
  /** Explanation of the weight in the parent, on the effective date of the composition that was optimised. */
  readonly source: IndexExplanation;
  /** Explanation of the weight in the solution; null if the security is not a candidate. */
  readonly solve: NameSolve | null;
  /** Warnings of the optimisation. */
  readonly findings: readonly Finding[];
}

/** A corporate action with the decisions about it. */
export interface DeskAction {
  /** Asset identifier. */
  readonly identifier: string;
  /** Type of the action. */
  readonly type: 'DIVIDEND' | 'SPECIAL_DIVIDEND' | 'RETURN_OF_CAPITAL' | 'SPLIT' | 'STOCK_DIVIDEND' | 'BONUS_ISSUE' | 'RIGHTS_ISSUE' | 'SPIN_OFF' | 'MERGER' | 'ACQUISITION' | 'DELISTING' | 'TICKER_CHANGE';
  /** First day without the entitlement. */
  readonly ex_date: string;
  /** Value as in the store: an amount per share, a multiplier or a ratio, depending on the type. */
  readonly value: number;
  /** Null: unknown. */
  readonly pay_date: string | null;
  /** Other identifier of a spin-off, merger or ticker change. */
  readonly related: string | null;
  /** Price of a new share in a rights issue. */
  readonly subscription_price: number | null;
  /** Cash that a merger pays per share in addition to shares. */
  readonly cash: number | null;
  /** Id of the action, derived from its store, security, type, ex-date and related security. */
  readonly action_id: string;
  /** Null: unknown. */
  readonly status: 'announced' | 'paid' | 'cancelled' | null;
  /** Day of the announcement. */
  readonly announced: string | null;
  /** `new`: no decision yet. `amended`: the terms in the store have changed since they were confirmed or rejected. */
  readonly state: 'new' | 'confirmed' | 'rejected' | 'amended';
  /** Reasons to review the action, and differences from other sources. */
  readonly flags: readonly string[];
  /** Decisions of people, earliest first. */
  readonly decisions: readonly ActionDecision[];
}

export interface DeskActionDetail {
  /** Asset identifier. */
  readonly identifier: string;
  /** Type of the action. */
  readonly type: 'DIVIDEND' | 'SPECIAL_DIVIDEND' | 'RETURN_OF_CAPITAL' | 'SPLIT' | 'STOCK_DIVIDEND' | 'BONUS_ISSUE' | 'RIGHTS_ISSUE' | 'SPIN_OFF' | 'MERGER' | 'ACQUISITION' | 'DELISTING' | 'TICKER_CHANGE';
  /** First day without the entitlement. */
  readonly ex_date: string;
  /** Value as in the store: an amount per share, a multiplier or a ratio, depending on the type. */
  readonly value: number;
  /** Null: unknown. */
  readonly pay_date: string | null;
  /** Other identifier of a spin-off, merger or ticker change. */
  readonly related: string | null;
  /** Price of a new share in a rights issue. */
  readonly subscription_price: number | null;
  /** Cash that a merger pays per share in addition to shares. */
  readonly cash: number | null;
  /** Id of the action, derived from its store, security, type, ex-date and related security. */
  readonly action_id: string;
  /** Null: unknown. */
  readonly status: 'announced' | 'paid' | 'cancelled' | null;
  /** Day of the announcement. */
  readonly announced: string | null;
  /** `new`: no decision yet. `amended`: the terms in the store have changed since they were confirmed or rejected. */
  readonly state: 'new' | 'confirmed' | 'rejected' | 'amended';
  /** Reasons to review the action, and differences from other sources. */
  readonly flags: readonly string[];
  /** Decisions of people, earliest first. */
  readonly decisions: readonly ActionDecision[];
  /** Effect on each index with a run that holds the security. */
  readonly effects: readonly DeskActionEffect[];
}

export interface DeskActionEffect {
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** `coming`: the action is after the last date of the run, and the figures are pro forma. */
  readonly state: 'effective' | 'coming';
  /** Weight at the previous close. */
  readonly weight_before: number | null;
  /** Weight after the action. */
  readonly weight_after: number | null;
  /** Index shares before the action. */
  readonly shares_before: number | null;
  /** Index shares after the action. */
  readonly shares_after: number | null;
  /** Divisor of the index before the action. */
  readonly divisor_before: number | null;
  /** Divisor after the action and all other events of its session. */
  readonly divisor_after: number | null;
  /** Ordinary dividend before tax as a fraction of the level before it. The total return variant reinvests it; the price return variant has no effect. Null for other actions, and if prices include dividends. */
  readonly dividend_return?: number | null | undefined;
  /** Part of `dividend_return` that the net return variant reinvests. */
  readonly net_dividend_return?: number | null | undefined;
}

export interface DeskActions {
  /** Actions, sorted by ex-date and security. */
  readonly actions: readonly ListedDeskAction[];
  /** Number of actions that satisfy the filters. */
  readonly total: number;
  /** Number of indices missing from `indices`, because only the 50 newest runs are read. Null without them. */
  readonly indices_unread: number | null;
}

export interface DeskDecisionRequest {
  /** Decision about the action. */
  readonly decision: 'confirmed' | 'rejected' | 'reopened';
  /** Values of other sources; differences from the store become flags. */
  readonly sources?: readonly ActionSourceInput[] | undefined;
  /** Comment, for the history and the audit log. */
  readonly comment?: string | null | undefined;
}

export interface DifferenceCause {
  /** Event, price, rule or convention that differs. */
  readonly subject: 'dividend' | 'special_dividend' | 'split' | 'spin_off' | 'rights' | 'removal' | 'price' | 'constituent' | 'rebalance' | 'pricing' | 'cap' | 'shares' | 'rounding' | 'variant' | 'tax' | 'reinvestment' | 'currency' | 'calendar' | 'fee' | 'financing' | 'day_count' | 'scale';
  /** What the outside level did, compared with the run. */
  readonly manner: 'ignored' | 'added' | 'doubled' | 'inverted' | 'early' | 'late' | 'carried' | 'value';
  /** Security, exchange rate or country; null for the whole index. */
  readonly identifier: string | null;
  /** Ex-date, session or effective date of the run's own event; null for a convention from the start. */
  readonly date: string | null;
  /** Price, amount, rate or ratio of the outside level. */
  readonly value: number | null;
  readonly sentence: string;
  /** Last session of a state that lasts. */
  readonly through: string | null;
  /** Change with which a run reproduces the outside level. Changes apply in the order of causes. */
  readonly change: {
    /** JSON patch (RFC 6902) of the document of the index. Paths of the index beneath an overlay begin with its id. */
    readonly document: readonly PatchOperation[];
    /** Rows of cells. */
    readonly data: readonly DataChange[];
    /** Terms by which the outside level follows from the levels of the run; null if there are none. */
    readonly rounding: Readonly<Record<string, unknown>> | null;
  };
  /** Number of sessions that agree only with this cause. */
  readonly sessions: number;
  /** Effect of the cause alone on the last common level, in basis points. */
  readonly effect_bps: number;
  /** Other causes that explain the same sessions equally well. */
  readonly ties: readonly ({
    /** Event, price, rule or convention that differs. */
    readonly subject: 'dividend' | 'special_dividend' | 'split' | 'spin_off' | 'rights' | 'removal' | 'price' | 'constituent' | 'rebalance' | 'pricing' | 'cap' | 'shares' | 'rounding' | 'variant' | 'tax' | 'reinvestment' | 'currency' | 'calendar' | 'fee' | 'financing' | 'day_count' | 'scale';
    /** What the outside level did, compared with the run. */
    readonly manner: 'ignored' | 'added' | 'doubled' | 'inverted' | 'early' | 'late' | 'carried' | 'value';
    /** Security, exchange rate or country; null for the whole index. */
    readonly identifier: string | null;
    /** Ex-date, session or effective date of the run's own event; null for a convention from the start. */
    readonly date: string | null;
    /** Price, amount, rate or ratio of the outside level. */
    readonly value: number | null;
    readonly sentence: string;
  })[];
}

export interface DifferencesJobStatus {
  /** {kind}:{id}, for example backtest:LARGE-100. */
  readonly job_id: string;
  readonly kind: 'differences';
  /** Order in which waiting jobs start. */
  readonly priority: 'high' | 'normal' | 'low';
  /** pending -> running -> succeeded, failed or cancelled. Terminal states never change. */
  readonly status: 'pending' | 'running' | 'succeeded' | 'failed' | 'cancelled';
  /** Completed fraction: 0 while pending, exactly 1 after success. It never decreases during an attempt. */
  readonly progress: number;
  /** Current step. */
  readonly message: string;
  /** Error of the job; only if it failed. */
  readonly error: ErrorDetail | null;
  /** Time of the submission, ISO-8601 UTC with offset. */
  readonly created_at: string;
  /** Start of the current attempt. */
  readonly started_at: string | null;
  /** Time of the end, ISO-8601 UTC with offset; null while it has not ended. */
  readonly finished_at: string | null;
  /** Time of the last heartbeat of the running attempt. */
  readonly heartbeat_at: string | null;
  /** Number of starts, which is recorded before the work starts. */
  readonly attempt: number;
  /** Latest attempts in order, at most eleven. The last one is the current attempt. */
  readonly attempts: readonly JobAttempt[];
  /** Request body as it was accepted. */
  readonly request: unknown;
  /** SHA-256 of all inputs except the market. */
  readonly input_hash: string;
  /** X-Request-Id of the submission, which log lines of the job contain. Null if the service submitted the job. */
  readonly request_id: string | null;
  /** Trace of the submission, from its header traceparent. */
  readonly trace_id: string | null;
  /** Addresses that are notified when the job ends. */
  readonly callbacks: readonly JobCallback[];
  /** Result of the job, if it succeeded. Null if the run of a backtest was deleted. */
  readonly result: DifferencesView | null;
}

export interface DifferencesRequest {
  /** Levels from outside, one per date. Either these or `series`. */
  readonly levels?: readonly OutsideLevel[] | undefined;
  /** Identifier of a series or security of the store that has the levels from outside. */
  readonly series?: string | undefined;
  /** Return variant of the outside level. Default: the variant with which the most sessions agree. */
  readonly variant?: 'price' | 'total' | 'net' | null | undefined;
  /** Currency of the outside level. Default: found from the levels, beginning with that of the index. */
  readonly currency?: string | null | undefined;
  /** Decimals to which the outside level is rounded. Default: found from the values. */
  readonly decimals?: number | null | undefined;
  /** First date that is compared. */
  readonly start?: string | null | undefined;
  /** Last date that is compared. */
  readonly end?: string | null | undefined;
  /** Maximum number of causes. */
  readonly causes_max?: number | undefined;
  /** Subjects that are known to agree. No cause concerns them. */
  readonly known?: readonly ('dividend' | 'special_dividend' | 'split' | 'spin_off' | 'rights' | 'removal' | 'price' | 'constituent' | 'rebalance' | 'pricing' | 'cap' | 'shares' | 'rounding' | 'variant' | 'tax' | 'reinvestment' | 'currency' | 'calendar' | 'fee' | 'financing' | 'day_count' | 'scale')[] | undefined;
}

export interface DifferencesView {
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** The optimisation run. */
  readonly run_id: string;
  /** Return variant of the outside level. */
  readonly variant: 'price' | 'total' | 'net';
  /** Outside level over own level on the first common session. */
  readonly scale: number;
  /** Decimals of the outside level; null if it is not rounded. */
  readonly decimals: number | null;
  readonly sessions: {
    /** Number of sessions of both levels. */
    readonly common: number;
    /** Sessions on which the levels agree within rounding. */
    readonly equal: number;
    /** Sessions that agree with all causes. */
    readonly explained: number;
    readonly unexplained: readonly {
      /** The date. */
      readonly date: string;
      readonly difference_bps: number;
    }[];
  };
  /** Largest weight. */
  readonly largest: {
    /** The date. */
    readonly date: string;
    /** Level of the run times the scale. */
    readonly own: number;
    readonly outside: number;
    readonly difference_bps: number;
  };
  /** Mean absolute difference of the levels. */
  readonly mean_absolute_bps: number;
  /** Course of the differences. */
  readonly shapes: readonly ('step' | 'steps' | 'drift' | 'shift' | 'factor' | 'noise' | 'currency' | 'none')[];
  /** Causes by date. */
  readonly causes: readonly DifferenceCause[];
  /** True if every session is explained. */
  readonly complete: boolean;
  /** Fewest causes that explain all sessions, if every smaller set was excluded; otherwise null. */
  readonly fewest: number | null;
  /** True if the run with all changes equals the outside level on every common session within rounding. */
  readonly reproduced: boolean;
  /** Null: the differences are not divided into parts. */
  readonly parts: null;
}

export interface Distribution {
  /** Mean of the distribution. */
  readonly mean: number;
  /** Standard deviation over the paths, ddof 1. */
  readonly deviation: number;
  /** Least. */
  readonly minimum: number;
  /** Greatest. */
  readonly maximum: number;
  /** Values by requested percentile, interpolated between order statistics. */
  readonly percentiles: Readonly<Record<string, number>>;
}

/** Keeps securities with a minimum trailing yield and an ordinary dividend in each of the last calendar years. */
export interface DividendFilterParams {
  /** Minimum of the ordinary dividends of twelve months, divided by the close. Unit: fraction. */
  readonly minimum_yield?: number | undefined;
  /** Number of complete calendar years before the decision, each with at least one ordinary dividend. Unit: years. */
  readonly minimum_years?: number | undefined;
  /** Treatment of a security without a value of the datapoint. In a ranking, an included security without a value is last. */
  readonly missing?: 'exclude' | 'include' | undefined;
}

export interface DividendFilterRule {
  /** Id of the rule, unique within the pipeline. */
  readonly id: string;
  readonly type: 'DividendFilter';
  /** Parameters of the type, by name. */
  readonly params?: DividendFilterParams | undefined;
  /** Parameters that are tried, in order, if the rule keeps too few securities. */
  readonly fallback?: readonly RuleFallback[] | undefined;
}

export interface DividendPointsView {
  /** Version of the index or strategy; null for runs that were stored before versions existed. */
  readonly index_version: number | null;
  /** Data store on which the run was computed; null for runs that were stored without it. */
  readonly store_id: string | null;
  /** Causes why the run is stale; null if the stored run equals a new run of the request. */
  readonly stale: StaleState | null;
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** Return variant of the level in which the points are measured. */
  readonly variant: 'price' | 'total' | 'net';
  /** Withholding rate in the definition that net points use, or rates by the value of a field. */
  readonly withholding_tax: number | WithholdingRates;
  /** Last date of the run. */
  readonly as_of: string;
  /** Level on as_of; for a strategy rebased to 100. */
  readonly level: number;
  /** Sessions in the window on which a constituent went ex dividend. */
  readonly dates: readonly string[];
  /** Ordinary dividends before tax in index points, one value per date. */
  readonly points: readonly number[];
  /** Dividends after withholding tax in index points, one value per date. */
  readonly net_points: readonly number[];
  /** Sums of the calendar years in the window. */
  readonly years: readonly {
    /** Calendar year. */
    readonly year: number;
    /** Index points; negative if short positions pay more than long positions receive. */
    readonly points: number;
    /** Points after withholding tax, as reinvested by a net return index. */
    readonly net_points: number;
  }[];
  /** Sum of the twelve months that end on as_of. */
  readonly trailing: DividendSum;
  /** Dividends after as_of. */
  readonly announced: AnnouncedDividends;
}

/** Dividends of the twelve months that end on as_of. */
export interface DividendSum {
  /** Index points; negative if short positions pay more than long positions receive. */
  readonly points: number;
  /** Points after withholding tax, as reinvested by a net return index. */
  readonly net_points: number;
  /** Points divided by the level on as_of. */
  readonly yield: number;
}

/** The market value divided by the divisor, including the cash of an overlay or a derived index, equals the level at the close. Before the open, it equals the level of the previous close, because no event changes the level. */
export interface DivisorCheck {
  readonly check: 'divisor';
  /** Findings block the index (block), or are only reported (warn). Default: block. */
  readonly severity: 'block' | 'warn';
  /** Largest relative difference, in addition to rounding. */
  readonly tolerance: number;
}

/** The market value divided by the divisor, including the cash of an overlay or a derived index, equals the level at the close. Before the open, it equals the level of the previous close, because no event changes the level. */
export interface DivisorCheckInput {
  readonly check: 'divisor';
  /** Findings block the index (block), or are only reported (warn). Default: block. */
  readonly severity?: 'block' | 'warn' | undefined;
  /** Largest relative difference, in addition to rounding. */
  readonly tolerance?: number | undefined;
}

export interface DocumentAccess {
  /** Author of the first version; null if that version was purged. */
  readonly owner: {
    /** Id of the key, or `sub:` and the subject of the token; null without authentication. */
    readonly key_id: string | null;
    /** Name of the key. */
    readonly name: string;
  } | null;
  /** Clients that can read the document although their prefixes do not include its id: ids or names of keys, or `sub:` and the subject of a token. */
  readonly shared_with: readonly string[];
}

export interface DocumentChange {
  /** JSON pointer into the document after the preceding changes. */
  readonly path: string;
  /** Operation, as in JSON Patch (RFC 6902). */
  readonly op: 'add' | 'remove' | 'replace';
  /** Previous value; null for an addition. */
  readonly before: unknown;
  /** New value; null for a removal. */
  readonly after: unknown;
}

export interface DocumentVersion {
  /** Number of the version, from 1 without gaps. A deletion also has a number. */
  readonly version: number;
  /** SHA-256 of the content; for a deletion, of the deleted content. */
  readonly etag: string;
  /** Time of the write, ISO-8601 UTC with offset. */
  readonly at: string;
  /** Name of the key; `local` without keys. */
  readonly author: string;
  /** Id of the key, or `sub:` and the subject of the token; null without authentication. */
  readonly key_id: string | null;
  /** X-Change-Note of the write, at most 500 characters; null if there is none. */
  readonly note: string | null;
  /** Effect of the write on the document. */
  readonly action: 'created' | 'updated' | 'restored' | 'deleted';
  /** Number of the restored version; null for other writes. */
  readonly restored_from: number | null;
  /** X-Request-Id of the write; empty for writes of the engine. */
  readonly request_id: string;
}

export interface DrawdownRow {
  /** Last date at the high. */
  readonly peak: string;
  /** Date of the lowest level. */
  readonly trough: string;
  /** First date on which the level is back at the high; null if it has not recovered. */
  readonly recovery: string | null;
  /** Lowest level divided by the high, less 1. A fraction. */
  readonly depth: number;
  /** Number of sessions from the high to the recovery, or to the last date. */
  readonly sessions: number;
}

export interface DriftPayload {
  /** Largest single change. */
  readonly maximum: number;
  /** Date of the rebalance from which the drift is measured. */
  readonly since: string;
  /** Sum of the absolute changes. */
  readonly total_absolute: number;
  /** One-way turnover: half the sum of the absolute changes. */
  readonly turnover: number;
}

/** The effective number of securities (1 divided by the sum of squared weights) is at least a minimum. */
export interface EffectiveNumberParams {
  /** Smallest effective number. Unit: securities. */
  readonly minimum: number;
  /** Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated. */
  readonly soft?: number | null | undefined;
  /** Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy. */
  readonly priority?: number | undefined;
}

export interface EffectiveNumberRow {
  readonly type: 'EffectiveNumber';
  /** Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position. */
  readonly id?: string | undefined;
  /** Parameters of the type, by name. */
  readonly params?: EffectiveNumberParams | undefined;
}

export interface Entitlement {
  /** Indices of the files. Default: every index. */
  readonly indices: readonly string[] | null;
  /** Tables of the files. `report` is a rendered report. Default: every file. */
  readonly tables: readonly string[] | null;
  /** First session of the files. Default: no limit. */
  readonly starts_on: string | null;
  /** Last session of the files. Default: no limit. */
  readonly ends_on: string | null;
}

export interface EntitlementInput {
  /** Indices of the files. Default: every index. */
  readonly indices?: readonly string[] | null | undefined;
  /** Tables of the files. `report` is a rendered report. Default: every file. */
  readonly tables?: readonly string[] | null | undefined;
  /** First session of the files. Default: no limit. */
  readonly starts_on?: string | null | undefined;
  /** Last session of the files. Default: no limit. */
  readonly ends_on?: string | null | undefined;
}

/** Weights with equal risk contributions of all constituents. */
export interface EqualRiskWeightParams {
  /** Number of trailing returns of the covariance. Unit: sessions. */
  readonly window?: number | undefined;
  /** Target towards which the sample covariance is shrunk. */
  readonly target?: 'constant_correlation' | 'scaled_identity' | undefined;
  /** Weight of the target. Default: securities / (securities + observations). Unit: fraction. */
  readonly intensity?: number | null | undefined;
}

export interface EqualRiskWeightWeighting {
  readonly type: 'EqualRiskWeight';
  /** Parameters of the type, by name. */
  readonly params?: EqualRiskWeightParams | undefined;
  /** Maximum weight of a constituent: a number, or an expression such as min(0.09, 3 * weight_in("PARENT")), which is evaluated for each constituent. Default: no maximum. Unit: fraction. */
  readonly cap?: number | string | DatapointInput | ExpressionNodeInput | null | undefined;
  /** Minimum weight of a security. Default: no minimum. Unit: fraction. */
  readonly floor?: number | null | undefined;
  /** Maximum weights of groups. */
  readonly group_caps?: readonly GroupCapInput[] | undefined;
  /** Reference column, such as ISSUER. `cap` and `ladder_caps` then limit the weight of each group of this column instead of each constituent. A constituent without a value is a separate group. */
  readonly cap_by?: string | undefined;
  /** Caps that apply if a limit is exceeded: first caps of single weights, then a cap of the total of large weights. */
  readonly ladder_caps?: LadderCaps | undefined;
  /** Datapoint that multiplies the raw weights. Its changes are phased in over several reviews. */
  readonly phase_in?: PhaseInInput | undefined;
}

/** Every constituent has the same weight. */
export type EqualWeightParams = Readonly<Record<string, never>>;

export interface EqualWeightWeighting {
  readonly type: 'EqualWeight';
  /** Parameters of the type, by name. */
  readonly params?: EqualWeightParams | undefined;
  /** Maximum weight of a constituent: a number, or an expression such as min(0.09, 3 * weight_in("PARENT")), which is evaluated for each constituent. Default: no maximum. Unit: fraction. */
  readonly cap?: number | string | DatapointInput | ExpressionNodeInput | null | undefined;
  /** Minimum weight of a security. Default: no minimum. Unit: fraction. */
  readonly floor?: number | null | undefined;
  /** Maximum weights of groups. */
  readonly group_caps?: readonly GroupCapInput[] | undefined;
  /** Reference column, such as ISSUER. `cap` and `ladder_caps` then limit the weight of each group of this column instead of each constituent. A constituent without a value is a separate group. */
  readonly cap_by?: string | undefined;
  /** Caps that apply if a limit is exceeded: first caps of single weights, then a cap of the total of large weights. */
  readonly ladder_caps?: LadderCaps | undefined;
  /** Datapoint that multiplies the raw weights. Its changes are phased in over several reviews. */
  readonly phase_in?: PhaseInInput | undefined;
}

export interface ErrorDetail {
  /** Stable error code for programs. */
  readonly code: 'MALFORMED_REQUEST' | 'BODY_TOO_LARGE' | 'UNAUTHENTICATED' | 'FORBIDDEN_SCOPE' | 'QUOTA_EXCEEDED' | 'APPROVAL_FORBIDDEN' | 'FORBIDDEN_ID' | 'READ_ONLY' | 'FORBIDDEN_ORIGIN' | 'ROUTE_NOT_FOUND' | 'INDEX_NOT_FOUND' | 'RUN_NOT_FOUND' | 'ASSET_NOT_IN_RUN' | 'BENCHMARK_NOT_FOUND' | 'CONSTRAINT_SET_NOT_FOUND' | 'RISK_MODEL_NOT_FOUND' | 'STRATEGY_NOT_FOUND' | 'TEMPLATE_NOT_FOUND' | 'RENDER_NOT_FOUND' | 'NOTHING_PUBLISHED' | 'VERSION_NOT_FOUND' | 'WATCHLIST_NOT_FOUND' | 'PLUGIN_NOT_FOUND' | 'SCHEDULE_NOT_FOUND' | 'CALENDAR_NOT_FOUND' | 'PROCEDURE_NOT_FOUND' | 'CLIENT_NOT_FOUND' | 'FILE_NOT_FOUND' | 'DAY_NOT_FOUND' | 'ACTION_NOT_FOUND' | 'APPROVAL_NOT_FOUND' | 'STORE_NOT_FOUND' | 'IDENTIFIER_NOT_FOUND' | 'JOB_NOT_FOUND' | 'DOCUMENT_UNREADABLE' | 'METHOD_NOT_ALLOWED' | 'NOT_ACCEPTABLE' | 'CHECK_FAILED' | 'DELIVERY_FAILED' | 'APPROVAL_REQUIRED' | 'APPROVAL_CLOSED' | 'DAY_ENDED' | 'INDEX_EXISTS' | 'STRATEGY_EXISTS' | 'TEMPLATE_EMPTY' | 'STORE_EXISTS' | 'STORE_ACTIVE' | 'STORE_PUBLISHED' | 'STORE_LOADING' | 'STORE_REFRESHING' | 'FOLDER_REGISTERED' | 'NOTHING_TO_REFRESH' | 'STORE_NOT_SERVED' | 'STORE_MISMATCH' | 'JOB_RUNNING' | 'RESTATEMENT' | 'NO_CURRENT_RUN' | 'NOT_REPRODUCED' | 'PARTIAL_CLOSES' | 'PRECONDITION_FAILED' | 'VALIDATION_FAILED' | 'INVALID_IDENTIFIER' | 'VERSION_NOT_RESTORABLE' | 'ID_MISMATCH' | 'INVALID_RANGE' | 'RANGE_TOO_SHORT' | 'CALENDAR_NOT_COVERED' | 'NO_DATA_IN_RANGE' | 'PLUGIN_FAILED' | 'NO_DATA_AT_DATE' | 'NO_DATA_KNOWN' | 'NO_COMMON_DATES' | 'UNIVERSE_REQUIRED' | 'EXPIRY_NOT_AFTER_AS_OF' | 'EXPIRY_ORDER' | 'RATE_OUT_OF_RANGE' | 'INDEX_REQUIRED' | 'TEMPLATE_BUILT_IN' | 'VARIANT_NOT_AVAILABLE' | 'TOTAL_LOSS' | 'INFEASIBLE' | 'OBJECTIVE_UNATTAINABLE' | 'EMPTY_INDEX' | 'NO_RATE' | 'FX_MISSING' | 'RISK_INSUFFICIENT_DATA' | 'LOOK_AHEAD' | 'MODEL_LACKS_NAMES' | 'QUERY_LIMIT' | 'NUMERIC_FAILURE' | 'SOLVER_FAILED' | 'MISSING_PRICE' | 'RATE_LIMITED' | 'INTERNAL' | 'NOT_SUPPORTED' | 'NO_DATA_SOURCE' | 'STORE_UNAVAILABLE' | 'OVERLOADED' | 'DRAINING' | 'STORAGE_FULL' | 'UNCLASSIFIED_FAILURE' | 'RISK_MODEL_CHANGED' | 'WORKER_CRASHED' | 'JOB_INTERRUPTED' | 'WORKER_OUT_OF_MEMORY' | 'JOB_TIMEOUT' | 'INDEX_DELETED' | 'RENDER_FAILED' | 'STORE_READ_FAILED' | 'REFRESH_REJECTED' | 'STORE_WRITE_FAILED';
  /** Message in one sentence. */
  readonly message: string;
  /** Further details that depend on the code; null if there are none. */
  readonly detail: Readonly<Record<string, unknown>> | null;
}

export interface ErrorEnvelope {
  /** The error. */
  readonly error: ErrorDetail;
}

/** Differences below the threshold are left unchanged. Material differences are restated within the window, and announced after it. */
export interface ErrorPolicy {
  /** Smallest difference of a level that is material, in basis points. */
  readonly materiality_bps: number;
  /** Number of latest sessions within which a material error is restated. An older error is announced. */
  readonly correction_window: number;
}

export interface EventsSpec {
  /** Share changes wait for the next review (review), or apply after the close before their date (effective). Index shares are then scaled and the divisor is adjusted. Only for weightings by market value. */
  readonly share_changes: 'review' | 'effective';
  /** Smallest change that is applied between reviews, relative to the counts that were adopted last. Unit: fraction. */
  readonly threshold: number;
  /** Replacement of a constituent that leaves between reviews: no security (none), the best-ranked security that the last review did not select and that still passes the rules (next_ranked), or the first of a list (reserve). */
  readonly replacement: 'none' | 'next_ranked' | 'reserve';
  /** Identifiers, in the order in which they enter. */
  readonly reserve?: readonly string[] | undefined;
  /** New securities can enter between reviews. Each of them replaces the lowest-ranked constituent. */
  readonly fast_entry?: FastEntrySpec | undefined;
  /** Constituents can leave between reviews. The best-ranked security outside the index replaces each of them. */
  readonly fast_exit?: FastExitSpec | undefined;
  /** A constituent that merges into a security outside the universe is converted into it (convert), or leaves at its last price (remove). */
  readonly acquirer: 'convert' | 'remove';
}

export interface EventsSpecInput {
  /** Share changes wait for the next review (review), or apply after the close before their date (effective). Index shares are then scaled and the divisor is adjusted. Only for weightings by market value. */
  readonly share_changes?: 'review' | 'effective' | undefined;
  /** Smallest change that is applied between reviews, relative to the counts that were adopted last. Unit: fraction. */
  readonly threshold?: number | undefined;
  /** Replacement of a constituent that leaves between reviews: no security (none), the best-ranked security that the last review did not select and that still passes the rules (next_ranked), or the first of a list (reserve). */
  readonly replacement?: 'none' | 'next_ranked' | 'reserve' | undefined;
  /** Identifiers, in the order in which they enter. */
  readonly reserve?: readonly string[] | undefined;
  /** New securities can enter between reviews. Each of them replaces the lowest-ranked constituent. */
  readonly fast_entry?: FastEntrySpecInput | undefined;
  /** Constituents can leave between reviews. The best-ranked security outside the index replaces each of them. */
  readonly fast_exit?: FastExitSpecInput | undefined;
  /** A constituent that merges into a security outside the universe is converted into it (convert), or leaves at its last price (remove). */
  readonly acquirer?: 'convert' | 'remove' | undefined;
}

export interface EventsView {
  /** First day. */
  readonly from: string;
  /** Last day. */
  readonly to: string;
  /** Number of indices that the response covers. */
  readonly indices: number;
  /** The first 10,000 events, sorted by date, kind and index. */
  readonly events: readonly IndexEvent[];
  /** First day covered by all calendars of the indices; earlier events are incomplete. Null without an index. */
  readonly covered_from: string | null;
  /** Last day covered by all calendars of the indices; later events are incomplete. Null without an index. */
  readonly covered_to: string | null;
  /** Total number. */
  readonly events_total: number;
  /** Number of stored documents that are omitted because they cannot be read. */
  readonly skipped: number;
  /** Number of omitted documents by cause. */
  readonly skipped_causes: SkippedCauses;
}

/** Soft bound that a solution violates. */
export interface ExceededLimit {
  /** Label of the bound, as in the binding constraints. */
  readonly label: string;
  /** Id of the constraint in the request; empty if it has none. */
  readonly id: string;
  /** Type of the constraint. */
  readonly type: string;
  /** Bound that is violated; `eq` for an equality. */
  readonly side: 'lower' | 'upper' | 'eq';
  /** Unit of `value` and `limit`. */
  readonly unit: 'fraction' | 'count' | 'value';
  /** Value of the solution. */
  readonly value: number;
  /** Bound as requested. */
  readonly limit: number;
}

/** Return of the index in excess of cash. */
export interface ExcessReturnOverlay {
  readonly type: 'excess_return';
  /** Series of the data with the rate of cash, percent per year. */
  readonly cash: string;
  /** Number of days per year. */
  readonly basis: 360 | 365;
}

/** Return of the index in excess of cash. */
export interface ExcessReturnOverlayInput {
  readonly type: 'excess_return';
  /** Series of the data with the rate of cash, percent per year. */
  readonly cash: string;
  /** Number of days per year. */
  readonly basis?: 360 | 365 | undefined;
}

/** Removes the securities of a list. */
export interface ExcludeListParams {
  /** Asset identifiers. */
  readonly identifiers: readonly string[];
}

export interface ExcludeListRule {
  /** Id of the rule, unique within the pipeline. */
  readonly id: string;
  readonly type: 'ExcludeList';
  /** Parameters of the type, by name. */
  readonly params?: ExcludeListParams | undefined;
  /** Parameters that are tried, in order, if the rule keeps too few securities. */
  readonly fallback?: readonly RuleFallback[] | undefined;
}

/** The listed securities have no weight. */
export interface ExcludeParams {
  /** Securities of the constraint. */
  readonly identifiers: readonly string[];
  /** Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated. */
  readonly soft?: number | null | undefined;
  /** Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy. */
  readonly priority?: number | undefined;
}

export interface ExcludeRow {
  readonly type: 'Exclude';
  /** Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position. */
  readonly id?: string | undefined;
  /** Parameters of the type, by name. */
  readonly params?: ExcludeParams | undefined;
}

/** The annual expected return of the portfolio is at least a limit, before costs. It is computed from the expected returns of the request, which are required; their uncertainty is not deducted. */
export interface ExpectedReturnParams {
  /** Smallest annual expected return. Unit: fraction a year. */
  readonly lower: number;
  /** Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated. */
  readonly soft?: number | null | undefined;
  /** Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy. */
  readonly priority?: number | undefined;
}

export interface ExpectedReturnRow {
  readonly type: 'ExpectedReturn';
  /** Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position. */
  readonly id?: string | undefined;
  /** Parameters of the type, by name. */
  readonly params?: ExpectedReturnParams | undefined;
}

/** Annualised expected returns of the securities. */
export type ExpectedReturns = FieldReturns | HistoricalReturns | CapmReturns | BlackLittermanReturns;

export interface ExplainedDatapoint {
  /** Path in the definition that refers to the datapoint. */
  readonly path: string;
  /** Description of the value that was read. */
  readonly field: string;
  /** The value. */
  readonly value: string | number | boolean | null;
  /** First date that was read. It equals `to` for a single value, and is null for a value that is always valid. */
  readonly from: string | null;
  /** Last date that was read. */
  readonly to: string | null;
  /** Number of values between these dates. For VOLATILITY, MOMENTUM, BETA and windows of RETURN, the number of returns between bars on consecutive sessions. */
  readonly observations: number;
  /** First session on which the datapoint can have a value: the first bar plus half of the window and the lag. Present only if the value is missing because the bars of the security started too late. */
  readonly known_from: string | null;
}

export interface ExplainedRule {
  /** Position in the order. */
  readonly position: number;
  /** Id of the rule; null for the universe. */
  readonly rule_id: string;
  /** Class of the rule; null for the universe. */
  readonly rule_type: string;
  /** True if the previous composition contained the security. */
  readonly constituent: boolean;
  /** True if the rule kept the security. */
  readonly kept: boolean;
  /** The condition in words. */
  readonly test: string;
  /** Value of the security; null if missing. */
  readonly value: string | number | boolean | null;
  /** Bound of the value. For a ranking, the value of the last security that satisfies the applicable threshold. */
  readonly threshold: number | null;
  /** Rank, 1 for the best; null if the rule does not rank. */
  readonly rank: number | null;
  /** Last rank that satisfies the applicable threshold. With a buffer, it differs for constituents. */
  readonly cutoff: number | null;
  /** True if the security stayed because it was a constituent. */
  readonly incumbent: boolean;
  /** Distance of the value of an excluded security from its threshold. 0 for a kept security; null if the value is not a number. */
  readonly distance: number | null;
  /** All thresholds for the security, beginning with the decisive threshold. `threshold`, `cutoff` and `distance` refer to the decisive threshold. */
  readonly thresholds: readonly ExplainedThreshold[];
  /** Comparisons of an expression with the value of the security. */
  readonly comparisons: readonly ({
    /** Path of the comparison in the expression; empty for the whole expression. */
    readonly path: string;
    /** The condition in words. */
    readonly test: string;
    /** The value. */
    readonly value: string | number | boolean | null;
    /** Result of the comparison; null if unknown. */
    readonly outcome: boolean | null;
  })[];
}

/** Threshold of a rule for a security. */
export interface ExplainedThreshold {
  /** `minimum` minimum value; `maximum` maximum value; `incumbent_minimum` minimum value for a constituent; `minimum_years` minimum number of years with a dividend; `comparison` comparison value; `count` last rank that is kept; `fraction` last rank within the fraction; `coverage` last rank within the coverage; `coverage_buffer` last rank at which a constituent stays; `coverage_lower` last rank within the lower band; `coverage_upper` last rank at which a constituent stays, within the upper band; `enter_rank` last rank at which a new security always enters; `exit_rank` last rank at which a constituent can stay; `places` rank of the last constituent that stayed before the count was reached; `fill_up` rank of the last security that completed the count. */
  readonly type: 'minimum' | 'maximum' | 'incumbent_minimum' | 'minimum_years' | 'comparison' | 'count' | 'fraction' | 'coverage' | 'coverage_buffer' | 'coverage_lower' | 'coverage_upper' | 'enter_rank' | 'exit_rank' | 'places' | 'fill_up';
  /** Last rank that satisfies the threshold; null without a ranking. */
  readonly rank: number | null;
  /** Bound; for a ranking, the value of the security at that rank. Null if there is none. */
  readonly value: number | null;
  /** True if the security satisfied the threshold. */
  readonly met: boolean;
  /** Change of the value of the security that would satisfy the threshold. 0 if it is satisfied; null if the value is not a number. */
  readonly distance: number | null;
}

/** Writes files of the published runs, such as closing and opening files, and keeps them with the day for delivery. */
export interface ExportStep {
  readonly type: 'export';
  /** Files of each index. */
  readonly files: readonly ExportedFile[];
}

/** Writes files of the published runs, such as closing and opening files, and keeps them with the day for delivery. */
export interface ExportStepInput {
  readonly type: 'export';
  /** Files of each index. */
  readonly files: readonly ExportedFileInput[];
}

export interface ExportView {
  /** Version of the index or strategy; null for runs that were stored before versions existed. */
  readonly index_version: number | null;
  /** Data store on which the run was computed; null for runs that were stored without it. */
  readonly store_id: string | null;
  /** Causes why the run is stale; null if the stored run equals a new run of the request. */
  readonly stale: StaleState | null;
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** The requested table. */
  readonly table: 'levels' | 'weights' | 'constituents' | 'closing' | 'opening' | 'proforma' | 'rebalances' | 'trades' | 'attribution' | 'events' | 'exposures' | 'limits' | 'breaches' | 'risk';
  /** Names of the columns. */
  readonly columns: readonly string[];
  /** Rows with one value per column; dates are YYYY-MM-DD. */
  readonly data: readonly (readonly (string | number | null)[])[];
}

export interface ExportedFile {
  /** Table of the export. */
  readonly table: 'levels' | 'weights' | 'constituents' | 'closing' | 'opening' | 'proforma' | 'rebalances' | 'trades' | 'attribution' | 'events' | 'exposures' | 'limits' | 'breaches' | 'risk';
  /** Format of the file. */
  readonly format: 'json' | 'csv' | 'arrow' | 'parquet' | 'xlsx';
  /** Pattern of the file name with {index}, {table}, {schedule} and {date:YYYYMMDD}. Default: {index}_{date:YYYYMMDD}_{table}.FORMAT. */
  readonly name?: string | undefined;
  /** Indices of the plan that have this file. Default: all indices. */
  readonly indices: readonly string[] | null;
  /** Reference column of the groups of the table. */
  readonly by?: string | undefined;
  /** True writes the whole history up to the session. Default: only the session. */
  readonly from_start: boolean;
  /** True writes no file if the table has no rows on the session, such as a proforma file between announcements. */
  readonly optional: boolean;
}

export interface ExportedFileInput {
  /** Table of the export. */
  readonly table: 'levels' | 'weights' | 'constituents' | 'closing' | 'opening' | 'proforma' | 'rebalances' | 'trades' | 'attribution' | 'events' | 'exposures' | 'limits' | 'breaches' | 'risk';
  /** Format of the file. */
  readonly format?: 'json' | 'csv' | 'arrow' | 'parquet' | 'xlsx' | undefined;
  /** Pattern of the file name with {index}, {table}, {schedule} and {date:YYYYMMDD}. Default: {index}_{date:YYYYMMDD}_{table}.FORMAT. */
  readonly name?: string | undefined;
  /** Indices of the plan that have this file. Default: all indices. */
  readonly indices?: readonly string[] | null | undefined;
  /** Reference column of the groups of the table. */
  readonly by?: string | undefined;
  /** True writes the whole history up to the session. Default: only the session. */
  readonly from_start?: boolean | undefined;
  /** True writes no file if the table has no rows on the session, such as a proforma file between announcements. */
  readonly optional?: boolean | undefined;
}

export interface ExposurePayload {
  /** Sum of the long weights. */
  readonly long: number;
  /** Sum of the short weights, negative. */
  readonly short: number;
  /** Sum of the absolute weights. */
  readonly gross: number;
  /** Sum of the weights. Cash is 1 less this sum. */
  readonly net: number;
}

export interface ExposuresView {
  /** Version of the index or strategy; null for runs that were stored before versions existed. */
  readonly index_version: number | null;
  /** Data store on which the run was computed; null for runs that were stored without it. */
  readonly store_id: string | null;
  /** Causes why the run is stale; null if the stored run equals a new run of the request. */
  readonly stale: StaleState | null;
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** Reference column, as known on each date. Securities without a value form the group UNCLASSIFIED. IDENTIFIER makes each security a group. */
  readonly by: string;
  /** Benchmark of the comparison; null if there is none. */
  readonly benchmark: string | null;
  /** Dates of the run, or the last date of each interval. */
  readonly dates: readonly string[];
  /** Groups, sorted by average weight (largest first), with OTHERS last. Their weights add up to the invested weight. */
  readonly groups: readonly ({
    /** The group. */
    readonly group: string;
    /** Sum of the held weights. One value per date. */
    readonly weights: readonly number[];
    /** Sum of the weights of the benchmark by date; null without a benchmark. */
    readonly benchmark_weights: readonly number[] | null;
  })[];
  /** Entries, in the order of the request. */
  readonly fields: readonly FieldExposure[];
  /** Concentration of the weights. */
  readonly concentration: ConcentrationSeries;
  /** Active share by date; null without a benchmark. */
  readonly active_share: readonly number[] | null;
  /** One-way turnover of the portfolio since the previous date. The first purchase is excluded. One value per date. */
  readonly turnover: readonly number[];
}

/** Keeps securities for which an expression of datapoints is true. */
export interface ExpressionFilterParams {
  /** Condition as text, or a tree of all, any, not and comparisons. */
  readonly expression: ExpressionNodeInput;
  /** Treatment of a security for which the expression is unknown because a datapoint is missing. */
  readonly missing?: 'exclude' | 'include' | undefined;
}

export interface ExpressionFilterRule {
  /** Id of the rule, unique within the pipeline. */
  readonly id: string;
  readonly type: 'ExpressionFilter';
  /** Parameters of the type, by name. */
  readonly params?: ExpressionFilterParams | undefined;
  /** Parameters that are tried, in order, if the rule keeps too few securities. */
  readonly fallback?: readonly RuleFallback[] | undefined;
}

/** Expression of the datapoints of one security. */
export type ExpressionNode = AllNode | AnyNode | NotNode | ComparisonNode | FieldNode | ValueNode | ArithmeticNode | FunctionNode;

/** Expression of the datapoints of one security. */
export type ExpressionNodeInput = AllNodeInput | AnyNodeInput | NotNodeInput | ComparisonNodeInput | FieldNodeInput | ValueNode | ArithmeticNodeInput | FunctionNodeInput;

export interface FactorAttributionView {
  /** Version of the index or strategy; null for runs that were stored before versions existed. */
  readonly index_version: number | null;
  /** Data store on which the run was computed; null for runs that were stored without it. */
  readonly store_id: string | null;
  /** Causes why the run is stale; null if the stored run equals a new run of the request. */
  readonly stale: StaleState | null;
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** The factor model. */
  readonly model: 'styles' | 'market_sector';
  /** Factors, in the order of the model. */
  readonly factors: readonly FactorContribution[];
  /** Linked returns of the securities that the factors do not explain. */
  readonly specific: number;
  /** Linked effect of costs, cash, and securities without a regression. */
  readonly other: number;
  /** Sum of the contributions, specific and other. */
  readonly total_return: number;
  /** Mean fraction of the gross weight that the regressions include. */
  readonly covered_weight: number;
  /** Number of periods. */
  readonly periods: number;
  /** True if the residual is within its tolerance. */
  readonly reconciles: boolean;
  /** Residual, which contains only rounding errors. */
  readonly residual: number;
  /** Requested value; the first date of the run if omitted. */
  readonly requested_start: string | null;
  /** Requested value; the last date of the run if omitted. */
  readonly requested_end: string | null;
  /** First date. */
  readonly start: string;
  /** Last date. */
  readonly end: string;
  /** Months in which the store has too few securities for a regression. The return of these months is in `other`. */
  readonly findings: readonly Finding[];
}

export interface FactorContribution {
  /** MARKET, a sector or a style. */
  readonly factor: string;
  /** Mean exposure of the held weights. */
  readonly average_exposure: number;
  /** Exposure times return of the factor, linked over the sessions. */
  readonly contribution: number;
}

/** The exposure of the portfolio, or of its active weights, to a datapoint is between two bounds. A missing value is replaced by the mean. */
export interface FactorExposureParams {
  /** Name of a datapoint, or an expression of datapoints as text or as nodes, as known on the rebalance date. */
  readonly field: string | ExpressionNodeInput;
  /** Smallest exposure. */
  readonly lower?: number | BoundPath | null | undefined;
  /** Largest exposure. */
  readonly upper?: number | BoundPath | null | undefined;
  /** If true, exposures are z-scores over the securities. */
  readonly standardise?: boolean | undefined;
  /** If true, the bounds apply to active weights. */
  readonly active?: boolean | undefined;
  /** Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated. */
  readonly soft?: number | null | undefined;
  /** Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy. */
  readonly priority?: number | undefined;
}

export interface FactorExposureRow {
  readonly type: 'FactorExposure';
  /** Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position. */
  readonly id?: string | undefined;
  /** Parameters of the type, by name. */
  readonly params?: FactorExposureParams | undefined;
}

export interface FactorModelPayload {
  /** Mean fraction of the cross-sectional variance that the factors explain; for principal components, their fraction of all variances. Null for an imported model. */
  readonly r_squared: number | null;
  /** Factors in the order of the model. */
  readonly factors: readonly ({
    /** MARKET, a sector, a style or a principal component; for an imported model, the name of the factor. */
    readonly factor: string;
    /** Annualised volatility of the return of the factor. */
    readonly volatility: number;
    /** Mean absolute t-statistic over the sessions; null for a principal component and for an imported model. */
    readonly mean_t_statistic: number | null;
    /** Fraction of the sessions with an absolute t-statistic above 2; null for a principal component and for an imported model. */
    readonly significant_share: number | null;
  })[];
}

export interface FastEntrySpec {
  /** A new security enters if it ranks at or above this rank. */
  readonly rank: number;
  /** Datapoint by which constituents and candidates are ranked, largest first. */
  readonly field: string;
  /** A new security is ranked at the close of this number of sessions after its first price. Unit: sessions. */
  readonly after_sessions: number;
}

export interface FastEntrySpecInput {
  /** A new security enters if it ranks at or above this rank. */
  readonly rank: number;
  /** Datapoint by which constituents and candidates are ranked, largest first. */
  readonly field?: string | undefined;
  /** A new security is ranked at the close of this number of sessions after its first price. Unit: sessions. */
  readonly after_sessions?: number | undefined;
}

export interface FastExitSpec {
  /** A constituent leaves if it ranks below this rank. */
  readonly rank: number;
  /** Datapoint by which constituents and candidates are ranked, largest first. */
  readonly field: string;
  /** Dates on which constituents are ranked, in the form of `rebalance` of the document. Default: monthly. */
  readonly schedule: RebalanceSpec;
}

export interface FastExitSpecInput {
  /** A constituent leaves if it ranks below this rank. */
  readonly rank: number;
  /** Datapoint by which constituents and candidates are ranked, largest first. */
  readonly field?: string | undefined;
  /** Dates on which constituents are ranked, in the form of `rebalance` of the document. Default: monthly. */
  readonly schedule?: RebalanceSpecInput | undefined;
}

/** The index less an annual fee, which is subtracted every day. */
export interface FeeOverlay {
  readonly type: 'fee';
  /** Percent per year: 5 is 5%. */
  readonly percent: number;
  /** Number of days per year. */
  readonly basis: 360 | 365;
}

/** The index less an annual fee, which is subtracted every day. */
export interface FeeOverlayInput {
  readonly type: 'fee';
  /** Percent per year: 5 is 5%. */
  readonly percent: number;
  /** Number of days per year. */
  readonly basis?: 360 | 365 | undefined;
}

/** Values of a column. */
export interface FieldCoverage {
  /** Name of the column. */
  readonly name: string;
  /** Table of the column. */
  readonly dataset: 'market' | 'reference';
  /** Number of securities with a value on any date. */
  readonly securities: number;
  /** Number of securities with a close and a value on the last date; for reference data, with a value valid on it. */
  readonly securities_at_end: number;
  /** Date of the first value. Null if there is none, or if reference values have no valid_from. */
  readonly start: string | null;
  /** Date of the last value; for reference data, the latest valid_from of a value. */
  readonly end: string | null;
}

export interface FieldExposure {
  /** Datapoint or reference column. */
  readonly field: string;
  /** Mean of the datapoint, weighted by the holdings. One value per date; null if no holding has a value. */
  readonly mean: readonly (number | null)[];
  /** Fraction of the absolute weights that belongs to securities with a value. One value per date. */
  readonly coverage: readonly number[];
  /** Weighted quantile: the smallest value for which the securities with at most this value have this fraction of the weights. */
  readonly percentiles: WeightedPercentiles;
  /** Exposure of the benchmark; null if there is none. */
  readonly benchmark: BenchmarkFieldExposure;
}

/** Keeps securities whose datapoint satisfies one comparison. It is a short form of ExpressionFilter. */
export interface FieldFilterParams {
  /** Name of a column or derived datapoint, an expression as text or as nodes, or an object with name, window, lag, aggregate and transform. */
  readonly field: string | DatapointInput | ExpressionNodeInput;
  /** Comparison of the datapoint with the value. */
  readonly comparison: 'gt' | 'ge' | 'lt' | 'le' | 'eq' | 'ne' | 'in' | 'between';
  /** For gt, ge, lt, le: a number or an expression. For eq, ne: a string, number or boolean. For in: a non-empty array. For between: [low, high]. */
  readonly value: unknown;
  /** Treatment of a security without a value of the datapoint. In a ranking, an included security without a value is last. */
  readonly missing?: 'exclude' | 'include' | undefined;
}

export interface FieldFilterRule {
  /** Id of the rule, unique within the pipeline. */
  readonly id: string;
  readonly type: 'FieldFilter';
  /** Parameters of the type, by name. */
  readonly params?: FieldFilterParams | undefined;
  /** Parameters that are tried, in order, if the rule keeps too few securities. */
  readonly fallback?: readonly RuleFallback[] | undefined;
}

export interface FieldList {
  /** Columns and derived datapoints, by name. */
  readonly fields: readonly ({
    /** Display name. */
    readonly name: string;
    /** Source of the field. */
    readonly dataset: 'market' | 'reference' | 'derived';
    /** Type of its values. */
    readonly kind: 'number' | 'string' | 'boolean';
  })[];
  /** Names of the universes of the store. */
  readonly universes: readonly string[];
  /** Values of a new index on the store; null if the store does not determine a value. */
  readonly index_defaults: {
    /** Only currency of the securities, otherwise the currency that the store declares. */
    readonly currency: string | null;
    /** Calendar of the only exchange of the securities. */
    readonly calendar: string | null;
    /** One year after the start of the store; its first date if the store is shorter. */
    readonly base_date: string | null;
  };
}

/** Datapoint that is read for every security on or before the decision date. */
export interface FieldNode {
  readonly node: 'field';
  /** Name of a column or derived datapoint, in exact spelling. */
  readonly name: string;
  /** Table of the datapoint. Null uses the first of market, reference and derived that has the datapoint. */
  readonly dataset: 'market' | 'reference' | 'derived' | null;
  /** Number of sessions before the decision date. */
  readonly lag: number;
  /** Number of trailing sessions. Sessions without a price bar are skipped. Required if the aggregate is not last. */
  readonly window: number | null;
  /** Aggregation of a window to one value. */
  readonly aggregate: 'last' | 'mean' | 'median' | 'sum' | 'min' | 'max' | 'std' | 'count';
  /** Transform across the remaining securities with a value. */
  readonly transform: 'none' | 'rank' | 'percentile' | 'zscore';
  /** Canonical text of the tree, at its root; ignored in requests. */
  readonly text?: string | undefined;
}

/** Datapoint that is read for every security on or before the decision date. */
export interface FieldNodeInput {
  readonly node: 'field';
  /** Name of a column or derived datapoint, in exact spelling. */
  readonly name: string;
  /** Table of the datapoint. Null uses the first of market, reference and derived that has the datapoint. */
  readonly dataset?: 'market' | 'reference' | 'derived' | null | undefined;
  /** Number of sessions before the decision date. */
  readonly lag?: number | undefined;
  /** Number of trailing sessions. Sessions without a price bar are skipped. Required if the aggregate is not last. */
  readonly window?: number | null | undefined;
  /** Aggregation of a window to one value. */
  readonly aggregate?: 'last' | 'mean' | 'median' | 'sum' | 'min' | 'max' | 'std' | 'count' | undefined;
  /** Transform across the remaining securities with a value. */
  readonly transform?: 'none' | 'rank' | 'percentile' | 'zscore' | undefined;
  /** Canonical text of the tree, at its root; ignored in requests. */
  readonly text?: string | undefined;
}

/** Datapoint of the store, as known at the decision, as a fraction per year. A missing value is replaced by the mean of the other values. */
export interface FieldReturns {
  /** Datapoint with the expected returns: its name, or an expression of datapoints as text or as nodes. */
  readonly field: string | FieldNodeInput | ExpressionNodeInput;
  readonly type: 'field';
}

/** Weights in proportion to a power of a datapoint. */
export interface FieldWeightParams {
  /** Name of a column or derived datapoint, an expression as text or as nodes, or an object with name, window, lag, aggregate and transform. */
  readonly field: string | DatapointInput | ExpressionNodeInput;
  /** Exponent of the value. -1 uses the inverse of the value. */
  readonly power?: number | undefined;
  /** Treatment of a security with a negative value: it is not held, its absolute value is used, or the decision fails. */
  readonly negative?: 'zero' | 'abs' | 'fail' | undefined;
}

export interface FieldWeightWeighting {
  readonly type: 'FieldWeight';
  /** Parameters of the type, by name. */
  readonly params?: FieldWeightParams | undefined;
  /** Maximum weight of a constituent: a number, or an expression such as min(0.09, 3 * weight_in("PARENT")), which is evaluated for each constituent. Default: no maximum. Unit: fraction. */
  readonly cap?: number | string | DatapointInput | ExpressionNodeInput | null | undefined;
  /** Minimum weight of a security. Default: no minimum. Unit: fraction. */
  readonly floor?: number | null | undefined;
  /** Maximum weights of groups. */
  readonly group_caps?: readonly GroupCapInput[] | undefined;
  /** Reference column, such as ISSUER. `cap` and `ladder_caps` then limit the weight of each group of this column instead of each constituent. A constituent without a value is a separate group. */
  readonly cap_by?: string | undefined;
  /** Caps that apply if a limit is exceeded: first caps of single weights, then a cap of the total of large weights. */
  readonly ladder_caps?: LadderCaps | undefined;
  /** Datapoint that multiplies the raw weights. Its changes are phased in over several reviews. */
  readonly phase_in?: PhaseInInput | undefined;
}

/** Result of a check, with its position in the request or in the data. */
export interface Finding {
  /** Errors prevent a save; warnings do not. */
  readonly severity: 'error' | 'warning' | 'info';
  /** Stable error code for programs. */
  readonly code: 'REQUIRED' | 'WRONG_TYPE' | 'OUT_OF_RANGE' | 'NOT_IN_CHOICES' | 'UNKNOWN_FIELD' | 'UNKNOWN_TYPE' | 'UNKNOWN_PARAMETER' | 'MISSING_PARAMETER' | 'DUPLICATE_ID' | 'DUPLICATE_ROW_ID' | 'BAD_DATE' | 'BAD_IDENTIFIER' | 'ID_MISMATCH' | 'INVALID_RANGE' | 'PIPELINE_XOR_DERIVATION' | 'IMMUTABLE_FIELD' | 'UNKNOWN_OBJECTIVE' | 'UNKNOWN_CALENDAR' | 'UNKNOWN_INDEX' | 'RUN_NOT_FOUND' | 'RISK_MODEL_NOT_FOUND' | 'NO_DATA_IN_RANGE' | 'CIRCULAR_REFERENCE' | 'EMPTY_RANGE' | 'NO_EFFECT' | 'DEFAULT_TAKEN' | 'WEIGHTS_NOT_ONE' | 'RETURNS_DIFFER' | 'CURRENCIES_DIFFER' | 'VALUE_TYPE_MISMATCH' | 'UNKNOWN_FIELD_NAME' | 'BAD_EXPRESSION' | 'BAD_QUERY' | 'UNKNOWN_FUNCTION' | 'UNIT_MISMATCH' | 'CAP_INFEASIBLE' | 'NOT_IN_INDEX' | 'UNKNOWN_IDENTIFIER' | 'BENCHMARK_IS_SELF' | 'UNKNOWN_BLOCK_KIND' | 'PARENT_CHANGED' | 'NO_WEIGHT_DATA' | 'REBALANCE_HELD' | 'NO_REPLACEMENT' | 'CONSTRAINT_RELAXED' | 'LIMIT_NOT_KEPT' | 'SILENT_DELISTING' | 'RISK_FALLBACK_IDENTITY' | 'CHOICE_NOT_PROVEN' | 'FX_MISSING' | 'NO_RATE' | 'RIGHTS_NOT_ADJUSTED' | 'MISSING_COLUMN' | 'COLUMN_IGNORED' | 'ADJUSTMENT_UNEXPLAINED' | 'NOT_A_NUMBER' | 'NON_POSITIVE_PRICE' | 'DUPLICATE_KEY' | 'UNKNOWN_ACTION_TYPE' | 'BAD_RATIO' | 'OVERLAPPING_MEMBERSHIP' | 'EMPTY_DATASET' | 'UNREADABLE_FILE' | 'DAMAGED_FILE' | 'LOCATION_NOT_ALLOWED' | 'CALLBACK_NOT_ALLOWED' | 'TARGET_NOT_ALLOWED' | 'LOCATION_NOT_FOUND' | 'MORE_FINDINGS' | 'CONSTRAINT_SET_NOT_FOUND' | 'WATCHLIST_NOT_FOUND' | 'PLUGIN_NOT_FOUND' | 'PLUGIN_FAULT' | 'PRICE_JUMP' | 'GAP_LONG' | 'ACTION_WITHOUT_PRICE' | 'ACTION_CONFLICT' | 'ACTION_DATES' | 'ACTION_SIZE' | 'UNKNOWN_CURRENCY' | 'STALE_TAIL' | 'PARTIAL_DATE' | 'PRICE_BASIS' | 'NO_DIVIDENDS' | 'CURRENCY_ASSUMED' | 'FX_CROSSED' | 'HISTORY_CHANGED' | 'DATES_ADDED' | 'SPLIT_RESTATED' | 'LATE_BARS' | 'BAR_CORRECTED' | 'NOT_A_SESSION' | 'DIFFERENT_DATA' | 'WINDOW_CUT' | 'STALE_FILL' | 'NOT_ANNOUNCED' | 'TOO_FEW_NAMES' | 'JOINT_ESTIMATE' | 'FRONTIER_SCOPE' | 'LOOK_AHEAD' | 'MODEL_LACKS_NAMES';
  /** Message in one sentence. */
  readonly message: string;
  /** Path of the field, as the client wrote it. */
  readonly path: string;
  /** Id of the rule or constraint, if it has one. */
  readonly row_id?: string | null | undefined;
  /** Accepted values, if the field has a fixed set of values. */
  readonly accepted?: readonly string[] | null | undefined;
  /** The refused value, if it is short. */
  readonly value?: unknown | undefined;
  /** Number of problems that this finding combines. More than 20 problems with the same code and data column are combined into one finding, with the first problem as an example. For a run, the number of times that securities lacked data or a risk model at its rebalances. */
  readonly count?: number | undefined;
  /** Paths of the first ten of these problems. */
  readonly places?: readonly string[] | undefined;
  /** For a run, the first rebalance with the finding. Rebalances before the run are not included. */
  readonly first_date?: string | undefined;
  /** The last of these rebalances. */
  readonly last_date?: string | undefined;
  /** Name of the file, sheet or archive member with the problem. If there are several, the first one. The path contains the row. */
  readonly file?: string | undefined;
  /** Range of characters of an expression that was sent as text: from `start` to before `end`. */
  readonly position?: {
    /** Offset of the first character. */
    readonly start: number;
    /** Offset after the last character. */
    readonly end: number;
  } | undefined;
}

/** Code of a finding. */
export type FindingCode = 'REQUIRED' | 'WRONG_TYPE' | 'OUT_OF_RANGE' | 'NOT_IN_CHOICES' | 'UNKNOWN_FIELD' | 'UNKNOWN_TYPE' | 'UNKNOWN_PARAMETER' | 'MISSING_PARAMETER' | 'DUPLICATE_ID' | 'DUPLICATE_ROW_ID' | 'BAD_DATE' | 'BAD_IDENTIFIER' | 'ID_MISMATCH' | 'INVALID_RANGE' | 'PIPELINE_XOR_DERIVATION' | 'IMMUTABLE_FIELD' | 'UNKNOWN_OBJECTIVE' | 'UNKNOWN_CALENDAR' | 'UNKNOWN_INDEX' | 'RUN_NOT_FOUND' | 'RISK_MODEL_NOT_FOUND' | 'NO_DATA_IN_RANGE' | 'CIRCULAR_REFERENCE' | 'EMPTY_RANGE' | 'NO_EFFECT' | 'DEFAULT_TAKEN' | 'WEIGHTS_NOT_ONE' | 'RETURNS_DIFFER' | 'CURRENCIES_DIFFER' | 'VALUE_TYPE_MISMATCH' | 'UNKNOWN_FIELD_NAME' | 'BAD_EXPRESSION' | 'BAD_QUERY' | 'UNKNOWN_FUNCTION' | 'UNIT_MISMATCH' | 'CAP_INFEASIBLE' | 'NOT_IN_INDEX' | 'UNKNOWN_IDENTIFIER' | 'BENCHMARK_IS_SELF' | 'UNKNOWN_BLOCK_KIND' | 'PARENT_CHANGED' | 'NO_WEIGHT_DATA' | 'REBALANCE_HELD' | 'NO_REPLACEMENT' | 'CONSTRAINT_RELAXED' | 'LIMIT_NOT_KEPT' | 'SILENT_DELISTING' | 'RISK_FALLBACK_IDENTITY' | 'CHOICE_NOT_PROVEN' | 'FX_MISSING' | 'NO_RATE' | 'RIGHTS_NOT_ADJUSTED' | 'MISSING_COLUMN' | 'COLUMN_IGNORED' | 'ADJUSTMENT_UNEXPLAINED' | 'NOT_A_NUMBER' | 'NON_POSITIVE_PRICE' | 'DUPLICATE_KEY' | 'UNKNOWN_ACTION_TYPE' | 'BAD_RATIO' | 'OVERLAPPING_MEMBERSHIP' | 'EMPTY_DATASET' | 'UNREADABLE_FILE' | 'DAMAGED_FILE' | 'LOCATION_NOT_ALLOWED' | 'CALLBACK_NOT_ALLOWED' | 'TARGET_NOT_ALLOWED' | 'LOCATION_NOT_FOUND' | 'MORE_FINDINGS' | 'CONSTRAINT_SET_NOT_FOUND' | 'WATCHLIST_NOT_FOUND' | 'PLUGIN_NOT_FOUND' | 'PLUGIN_FAULT' | 'PRICE_JUMP' | 'GAP_LONG' | 'ACTION_WITHOUT_PRICE' | 'ACTION_CONFLICT' | 'ACTION_DATES' | 'ACTION_SIZE' | 'UNKNOWN_CURRENCY' | 'STALE_TAIL' | 'PARTIAL_DATE' | 'PRICE_BASIS' | 'NO_DIVIDENDS' | 'CURRENCY_ASSUMED' | 'FX_CROSSED' | 'HISTORY_CHANGED' | 'DATES_ADDED' | 'SPLIT_RESTATED' | 'LATE_BARS' | 'BAR_CORRECTED' | 'NOT_A_SESSION' | 'DIFFERENT_DATA' | 'WINDOW_CUT' | 'STALE_FILL' | 'NOT_ANNOUNCED' | 'TOO_FEW_NAMES' | 'JOINT_ESTIMATE' | 'FRONTIER_SCOPE' | 'LOOK_AHEAD' | 'MODEL_LACKS_NAMES';

/** Weights by identifier. Constituents without a weight are not held. */
export interface FixedWeightParams {
  /** Identifier to weight. Unit: fraction. */
  readonly weights: Readonly<Record<string, number>>;
  /** True scales the weights of the selected securities to a sum of 1. Otherwise they must sum to 1. */
  readonly renormalise?: boolean | undefined;
}

export interface FixedWeightWeighting {
  readonly type: 'FixedWeight';
  /** Parameters of the type, by name. */
  readonly params?: FixedWeightParams | undefined;
  /** Maximum weight of a constituent: a number, or an expression such as min(0.09, 3 * weight_in("PARENT")), which is evaluated for each constituent. Default: no maximum. Unit: fraction. */
  readonly cap?: number | string | DatapointInput | ExpressionNodeInput | null | undefined;
  /** Minimum weight of a security. Default: no minimum. Unit: fraction. */
  readonly floor?: number | null | undefined;
  /** Maximum weights of groups. */
  readonly group_caps?: readonly GroupCapInput[] | undefined;
  /** Reference column, such as ISSUER. `cap` and `ladder_caps` then limit the weight of each group of this column instead of each constituent. A constituent without a value is a separate group. */
  readonly cap_by?: string | undefined;
  /** Caps that apply if a limit is exceeded: first caps of single weights, then a cap of the total of large weights. */
  readonly ladder_caps?: LadderCaps | undefined;
  /** Datapoint that multiplies the raw weights. Its changes are phased in over several reviews. */
  readonly phase_in?: PhaseInInput | undefined;
}

export interface FolderTarget {
  readonly type: 'folder';
  /** Name of the target, unique among the targets of the client. */
  readonly name: string;
  /** Tables whose files are sent to the target. `report` is a rendered report. Default: all files that the client can receive. */
  readonly tables: readonly string[] | null;
  /** Folder. */
  readonly url: string;
  /** Path below the address: folders, and a name with {file} (the name of the file), {client}, {index}, {table}, {schedule} and {date:YYYYMMDD}. */
  readonly path: string;
  /** True writes a file NAME.sha256 after each file, in the format of sha256sum. */
  readonly checksum: boolean;
}

export interface FolderTargetInput {
  readonly type: 'folder';
  /** Name of the target, unique among the targets of the client. */
  readonly name: string;
  /** Tables whose files are sent to the target. `report` is a rendered report. Default: all files that the client can receive. */
  readonly tables?: readonly string[] | null | undefined;
  /** Folder. */
  readonly url: string;
  /** Path below the address: folders, and a name with {file} (the name of the file), {client}, {index}, {table}, {schedule} and {date:YYYYMMDD}. */
  readonly path?: string | undefined;
  /** True writes a file NAME.sha256 after each file, in the format of sha256sum. */
  readonly checksum?: boolean | undefined;
}

/** Keeps securities with a minimum free float. */
export interface FreeFloatFilterParams {
  /** Minimum free float, as a fraction of the shares. Unit: fraction. */
  readonly minimum?: number | undefined;
  /** Treatment of a security without a value of the datapoint. In a ranking, an included security without a value is last. */
  readonly missing?: 'exclude' | 'include' | undefined;
}

export interface FreeFloatFilterRule {
  /** Id of the rule, unique within the pipeline. */
  readonly id: string;
  readonly type: 'FreeFloatFilter';
  /** Parameters of the type, by name. */
  readonly params?: FreeFloatFilterParams | undefined;
  /** Parameters that are tried, in order, if the rule keeps too few securities. */
  readonly fallback?: readonly RuleFallback[] | undefined;
}

/** The listed securities keep their weight in the reference portfolio. */
export interface FreezeParams {
  /** Securities of the constraint. */
  readonly identifiers: readonly string[];
  /** Portfolio from which trades are measured: the index, the previous solved weights, or the weights held just before the rebalance, after drift. */
  readonly reference?: 'index' | 'previous' | 'held' | undefined;
  /** Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated. */
  readonly soft?: number | null | undefined;
  /** Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy. */
  readonly priority?: number | undefined;
}

export interface FreezeRow {
  readonly type: 'Freeze';
  /** Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position. */
  readonly id?: string | undefined;
  /** Parameters of the type, by name. */
  readonly params?: FreezeParams | undefined;
}

export interface FrontierPayload {
  /** Points from the least variance to the largest expected return within the constraints, equally spaced in expected return. */
  readonly points: readonly ({
    /** Annualised expected return. */
    readonly expected_return: number;
    /** Annualised standard deviation of returns. */
    readonly volatility: number;
    /** Annualised standard deviation of return differences. */
    readonly tracking_error: number;
    /** Weights of the securities held at the point. Absent in runs of earlier versions, as are portfolio and index. */
    readonly weights?: Readonly<Record<string, number>> | undefined;
    /** Risk aversion for which max_utility has this solution, with these expected returns; null for the point with the least variance. */
    readonly risk_aversion?: number | null | undefined;
  })[];
  /** Portfolio with the largest excess return over the risk-free rate per unit of volatility; null if no excess return is positive. */
  readonly tangency: {
    /** Annualised expected return. */
    readonly expected_return: number;
    /** Annualised standard deviation of returns. */
    readonly volatility: number;
    /** Annualised standard deviation of return differences. */
    readonly tracking_error: number;
    /** Weights of the securities held at the point. Absent in runs of earlier versions, as are portfolio and index. */
    readonly weights?: Readonly<Record<string, number>> | undefined;
    /** Risk aversion for which max_utility has this solution, with these expected returns; null for the point with the least variance. */
    readonly risk_aversion?: number | null | undefined;
    /** Excess return divided by volatility. */
    readonly sharpe: number;
  } | null;
  /** Points by rank, from the least variance of each draw to its largest expected return. Risk and return are computed with the original estimates. Null without `resampling`; absent in runs of earlier versions. */
  readonly resampled?: ResampledFrontier | null | undefined;
  /** Frontier by the risk measure of the objective, without costs, from the optimum to the largest expected return, for min_tracking_error, min_cvar and min_cdar. For tail risk, it has 21, 11 or 6 points, depending on the computing time. Null for other objectives, whose frontier is `points`; absent in runs of earlier versions. */
  readonly by_objective?: readonly ({
    /** Annualised expected return. */
    readonly expected_return: number;
    /** Annualised standard deviation of returns. */
    readonly volatility: number;
    /** Annualised standard deviation of return differences. */
    readonly tracking_error: number;
    /** Measure of `risk`, which the objective minimises. */
    readonly risk_measure: 'volatility' | 'tracking_error' | 'cvar' | 'cdar';
    /** Minimum risk at the expected return: annualised tracking error; cvar and cdar as a fraction of value, per session. */
    readonly risk: number;
    /** Weights of the holdings of the point. */
    readonly weights: Readonly<Record<string, number>>;
  })[] | null | undefined;
  /** Risk and return of the weights of the run. */
  readonly portfolio?: {
    /** Annualised expected return. */
    readonly expected_return: number;
    /** Annualised standard deviation of returns. */
    readonly volatility: number;
    /** Annualised standard deviation of return differences. */
    readonly tracking_error: number;
  } | undefined;
  /** Risk and return of the weights of the index, which may violate the constraints. */
  readonly index?: {
    /** Annualised expected return. */
    readonly expected_return: number;
    /** Annualised standard deviation of returns. */
    readonly volatility: number;
    /** Annualised standard deviation of return differences. */
    readonly tracking_error: number;
  } | undefined;
}

/** The weights add up to 1. This constraint is present by default unless bounds of the sum of weights replace it. */
export interface FullInvestmentParams {
  /** Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated. */
  readonly soft?: number | null | undefined;
  /** Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy. */
  readonly priority?: number | undefined;
}

export interface FullInvestmentRow {
  readonly type: 'FullInvestment';
  /** Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position. */
  readonly id?: string | undefined;
  /** Parameters of the type, by name. */
  readonly params?: FullInvestmentParams | undefined;
}

/** Function of the catalogue with its operands. */
export interface FunctionNode {
  readonly node: 'function';
  /** Name of a function: see `functions` of /indices/rule-types. */
  readonly name: string;
  /** Arguments of the function, in order. */
  readonly operands: readonly ExpressionNode[];
  /** Column whose values define the groups in which the function is applied. */
  readonly by?: string | undefined;
  /** Securities to which the function applies: the remaining securities (default), or the whole universe. */
  readonly over?: 'selection' | 'universe' | undefined;
  /** Trailing sessions. */
  readonly window?: number | undefined;
  /** Number of sessions before the decision date. */
  readonly lag?: number | undefined;
  /** Lower percentile, a fraction. */
  readonly low?: number | undefined;
  /** Upper percentile, a fraction. */
  readonly high?: number | undefined;
  /** Canonical text of the tree, at its root; ignored in requests. */
  readonly text?: string | undefined;
}

/** Function of the catalogue with its operands. */
export interface FunctionNodeInput {
  readonly node: 'function';
  /** Name of a function: see `functions` of /indices/rule-types. */
  readonly name: string;
  /** Arguments of the function, in order. */
  readonly operands: readonly ExpressionNodeInput[];
  /** Column whose values define the groups in which the function is applied. */
  readonly by?: string | undefined;
  /** Securities to which the function applies: the remaining securities (default), or the whole universe. */
  readonly over?: 'selection' | 'universe' | undefined;
  /** Trailing sessions. */
  readonly window?: number | undefined;
  /** Number of sessions before the decision date. */
  readonly lag?: number | undefined;
  /** Lower percentile, a fraction. */
  readonly low?: number | undefined;
  /** Upper percentile, a fraction. */
  readonly high?: number | undefined;
  /** Canonical text of the tree, at its root; ignored in requests. */
  readonly text?: string | undefined;
}

export interface FunctionSpec {
  /** Name of the function. */
  readonly name: string;
  /** Scope of the function: one security, several securities, trailing sessions, or the decision. */
  readonly form: 'elementwise' | 'cross_section' | 'over_time' | 'decision';
  /** Syntax. */
  readonly signature: string;
  /** Description in one or two sentences. */
  readonly help: string;
  /** A complete expression. */
  readonly example: string;
}

export interface FuturesPriceRequest {
  /** Index whose level is the spot. Exactly one of index_id and spot is required. */
  readonly index_id?: string | null | undefined;
  /** Spot level, greater than 0. Requires as_of. */
  readonly spot?: number | null | undefined;
  /** Expiry of the contract. */
  readonly expiry: string;
  /** Valuation date. Default: the date of the latest level. */
  readonly as_of?: string | null | undefined;
  /** Financing rate. A fraction, annual and continuously compounded. Default: 0. */
  readonly risk_free_rate?: number | undefined;
  /** Dividend yield. A fraction, annual and continuously compounded. Default: 0. */
  readonly dividend_yield?: number | undefined;
  /** Cost of borrowing the securities. A positive rate lowers the forward. A fraction, annual and continuously compounded. Default: 0. */
  readonly borrow_rate?: number | undefined;
  /** Discrete dividends in index points between as_of and expiry. Cannot be combined with a non-zero dividend_yield. */
  readonly dividends?: readonly {
    /** First day without the entitlement. */
    readonly ex_date: string;
    /** Index points. */
    readonly amount: number;
  }[] | undefined;
  /** `announced`: the announced dividends of the latest run of `index_id`, in index points, with an ex-date up to the expiry, as known on the last date of the run. Excludes `dividends` and a yield. */
  readonly dividend_source?: 'given' | 'announced' | undefined;
  /** Observed price, which is used for the mispricing and the implied rates. */
  readonly market_price?: number | null | undefined;
  /** Amount of money per index point. */
  readonly multiplier?: number | undefined;
  /** Number of contracts; negative for a short position. */
  readonly contracts?: number | undefined;
}

export interface FuturesPriceResponse {
  /** The index, or the strategy of a run. */
  readonly index_id: string | null;
  /** Requested value; null if omitted. */
  readonly requested_as_of: string | null;
  /** Session that was used. */
  readonly as_of: string;
  /** Expiry of the contract. */
  readonly expiry: string;
  /** Calendar days. */
  readonly days: number;
  /** days / 365. */
  readonly year_fraction: number;
  /** Level of the underlying index. */
  readonly spot: number;
  /** Theoretical price. */
  readonly fair_value: number;
  /** fair_value less spot. */
  readonly basis: number;
  /** ln(fair_value / spot) / year_fraction. */
  readonly annualised_carry: number;
  /** Components of the basis. */
  readonly carry: CarryDecomposition;
  /** Sum of the discrete dividends between as_of and expiry, index points; 0 with a yield. */
  readonly dividend_points: number;
  /** contracts x multiplier x fair_value. */
  readonly notional: number;
  /** Change of the fair value per point of spot. */
  readonly delta: number;
  /** Change of the fair value per basis point of the risk-free rate. */
  readonly rho: number;
  /** Change of the fair value per basis point of dividend yield. */
  readonly dividend_sensitivity: number;
  /** market_price less fair_value; null without market_price. */
  readonly mispricing: number | null;
  /** Risk-free rate that reproduces market_price. */
  readonly implied_rate: number | null;
  /** Dividend yield that reproduces market_price; null with discrete dividends. */
  readonly implied_dividend_yield: number | null;
}

export interface GenerateJobStatus {
  /** {kind}:{id}, for example backtest:LARGE-100. */
  readonly job_id: string;
  readonly kind: 'generate';
  /** Order in which waiting jobs start. */
  readonly priority: 'high' | 'normal' | 'low';
  /** pending -> running -> succeeded, failed or cancelled. Terminal states never change. */
  readonly status: 'pending' | 'running' | 'succeeded' | 'failed' | 'cancelled';
  /** Completed fraction: 0 while pending, exactly 1 after success. It never decreases during an attempt. */
  readonly progress: number;
  /** Current step. */
  readonly message: string;
  /** Error of the job; only if it failed. */
  readonly error: ErrorDetail | null;
  /** Time of the submission, ISO-8601 UTC with offset. */
  readonly created_at: string;
  /** Start of the current attempt. */
  readonly started_at: string | null;
  /** Time of the end, ISO-8601 UTC with offset; null while it has not ended. */
  readonly finished_at: string | null;
  /** Time of the last heartbeat of the running attempt. */
  readonly heartbeat_at: string | null;
  /** Number of starts, which is recorded before the work starts. */
  readonly attempt: number;
  /** Latest attempts in order, at most eleven. The last one is the current attempt. */
  readonly attempts: readonly JobAttempt[];
  /** Request body as it was accepted. */
  readonly request: unknown;
  /** SHA-256 of all inputs except the market. */
  readonly input_hash: string;
  /** X-Request-Id of the submission, which log lines of the job contain. Null if the service submitted the job. */
  readonly request_id: string | null;
  /** Trace of the submission, from its header traceparent. */
  readonly trace_id: string | null;
  /** Addresses that are notified when the job ends. */
  readonly callbacks: readonly JobCallback[];
  /** Result of the job, if it succeeded. Null if the run of a backtest was deleted. */
  readonly result: DataStore | null;
}

export interface GenerateSyntheticRequest {
  /** Default: derived from the seed, for example synthetic-42-1. */
  readonly store_id?: string | undefined;
  /** Display name. */
  readonly name?: string | undefined;
  /** Seed of the random numbers. Equal requests give equal data on every platform. */
  readonly seed?: number | undefined;
  /** Number of securities at the start, without later listings. The number of securities times the number of sessions must be at most 31500000. */
  readonly assets?: number | undefined;
  /** First session. */
  readonly start?: string | undefined;
  /** Last date. Default: the end of the last complete calendar year. */
  readonly end?: string | undefined;
  /** Exchange, as a MIC. */
  readonly calendar?: string | undefined;
  /** ISO 4217 code. */
  readonly currency?: string | undefined;
  /** Number of sectors. */
  readonly sectors?: number | undefined;
  /** Expected annual return of the market. */
  readonly market_return?: number | undefined;
  /** Annual volatility of the market. */
  readonly market_volatility?: number | undefined;
  /** Specific volatility of a security relative to the market, annualised. */
  readonly specific_volatility?: number | undefined;
  /** Paid quarterly. */
  readonly dividend_yield?: number | undefined;
  /** Probability for each security. */
  readonly splits_per_year?: number | undefined;
  /** Per asset. */
  readonly delistings_per_year?: number | undefined;
  /** Per asset. */
  readonly listings_per_year?: number | undefined;
  /** Fraction of the bars that is removed. */
  readonly missing_rate?: number | undefined;
  /** True activates the store when it is complete. */
  readonly activate?: boolean | undefined;
}

export interface GovernanceOverview {
  /** Number of entries of each register. */
  readonly registers: {
    /** Receivers of files. */
    readonly clients: number;
    /** Procedures of the administrator. */
    readonly procedures: number;
    /** Entries of the registers of errors of all indices. */
    readonly errors: number;
    /** Decisions about days of all schedules. */
    readonly judgements: number;
    /** Number of entries of the audit log; null for a client that is limited to its own documents. */
    readonly audit: number | null;
  };
  /** State of the benchmark statements, by id of the index. */
  readonly statements: readonly ({
    /** The index, or the strategy of a run. */
    readonly index_id: string;
    /** Last published date; null if there is none. */
    readonly published_through: string | null;
    /** Number of entries of the published log, including restatements; null if the log cannot be read. */
    readonly entries: number | null;
    /** Newest version of the definition; null without versions. */
    readonly version: number | null;
    /** Version of the definition of the last published close; null if nothing is published, or if it is unknown. */
    readonly published_version: number | null;
    /** Sections of the statement that are empty: the purpose if the index has no description, the procedures if none applies to it. */
    readonly to_complete: readonly ('purpose' | 'procedures')[];
    /** Number of entries of the register of errors. */
    readonly errors: number;
    /** Last date of the data store of the index; null if the store has no data. */
    readonly data_through: string | null;
    /** Sessions of the index after its last published date, up to the last date of the data. Null if nothing is published or the store has no data. */
    readonly sessions_behind: number | null;
  })[];
  /** Newest entries of the registers of errors; up to 5. */
  readonly latest_errors: readonly PublishedError[];
  /** Newest decisions with a reason about days of schedules; up to 5. */
  readonly latest_judgements: readonly Judgement[];
}

/** The sum of the absolute weights is at most a limit: 1.5 allows short positions of 0.25 if the weights add up to 1. Position bounds with a negative lower bound allow short positions. */
export interface GrossExposureParams {
  /** Largest sum of absolute weights. Unit: fraction. */
  readonly upper: number;
  /** Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated. */
  readonly soft?: number | null | undefined;
  /** Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy. */
  readonly priority?: number | undefined;
}

export interface GrossExposureRow {
  readonly type: 'GrossExposure';
  /** Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position. */
  readonly id?: string | undefined;
  /** Parameters of the type, by name. */
  readonly params?: GrossExposureParams | undefined;
}

export interface GroupAttributionRow {
  /** The group. */
  readonly group: string;
  /** Mean weight at the beginning of the periods. */
  readonly average_weight: number;
  /** Mean weight of the group in the benchmark. Null without a benchmark. */
  readonly benchmark_average_weight: number | null;
  /** Return of the group in the run, compounded over the periods in which the group has a weight. In a period it is the contribution of the group, after costs, divided by its weight at the start; the effects use the same returns. Null if the group has no weight in any period, or a return below -1 in one, which opposite positions or costs of a small weight can cause. */
  readonly total_return: number | null;
  /** Return of the group in the benchmark, defined in the same way. Null also without a benchmark. */
  readonly benchmark_return: number | null;
  /** Contribution of the group to the total return; the groups sum to it. */
  readonly contribution: number;
  /** Effect of a group weight that differs from the benchmark. Null without a benchmark. */
  readonly allocation: number | null;
  /** Effect of a group return that differs from the benchmark. Null without a benchmark. */
  readonly selection: number | null;
  /** Joint effect of both. Null without a benchmark. */
  readonly interaction: number | null;
}

export interface GroupAttributionView {
  /** Version of the index or strategy; null for runs that were stored before versions existed. */
  readonly index_version: number | null;
  /** Data store on which the run was computed; null for runs that were stored without it. */
  readonly store_id: string | null;
  /** Causes why the run is stale; null if the stored run equals a new run of the request. */
  readonly stale: StaleState | null;
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** Reference column, as known at the end of the window. The group UNCLASSIFIED contains the securities without a value. The group CASH contains the uninvested part and the separate return of an overlay. */
  readonly by: string;
  /** Benchmark of the comparison; null if there is none. */
  readonly benchmark: string | null;
  /** Return of the run. */
  readonly return_variant: 'price' | 'total' | 'net';
  /** Return variant of the benchmark; `raw` for unadjusted levels; null if there is no benchmark. */
  readonly benchmark_variant: 'price' | 'total' | 'net' | 'raw' | null;
  /** One row per group. */
  readonly groups: readonly GroupAttributionRow[];
  /** Sum of each effect over all groups. The effects add up to the active return. Null without a benchmark. */
  readonly effects: {
    /** Effect of different group weights. */
    readonly allocation: number;
    /** Effect of different securities within the groups. */
    readonly selection: number;
    /** Joint effect of both. */
    readonly interaction: number;
  } | null;
  /** Last level divided by the first, less 1. */
  readonly total_return: number;
  /** Return of the benchmark over the same dates. */
  readonly benchmark_return: number | null;
  /** total_return less benchmark_return; the effects of all groups sum to it. */
  readonly active_return: number | null;
  /** Number of periods. */
  readonly periods: number;
  /** Residual, which contains only rounding errors. */
  readonly residual: number;
  /** True if the residual is within its tolerance. */
  readonly reconciles: boolean;
  /** Requested value; the first date of the run if omitted. */
  readonly requested_start: string;
  /** Requested value; the last date of the run if omitted. */
  readonly requested_end: string;
  /** End of the first complete period. A full timestamp. */
  readonly start: string;
  /** Latest date of the run on or before the requested end. A full timestamp. */
  readonly end: string;
  /** `RETURNS_DIFFER`: only one of run and benchmark includes dividends. */
  readonly findings: readonly Finding[];
}

/** The weight of each group is between two bounds. Securities without a group form a separate group. */
export interface GroupBoundsParams {
  /** Reference column of the groups. */
  readonly field: string;
  /** Groups of the constraint. Default: every group. */
  readonly groups?: readonly string[] | null | undefined;
  /** Smallest weight of a group. Unit: fraction. */
  readonly lower?: number | BoundPath | undefined;
  /** Largest weight of a group. Unit: fraction. */
  readonly upper?: number | BoundPath | undefined;
  /** Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated. */
  readonly soft?: number | null | undefined;
  /** Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy. */
  readonly priority?: number | undefined;
}

export interface GroupBoundsRow {
  readonly type: 'GroupBounds';
  /** Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position. */
  readonly id?: string | undefined;
  /** Parameters of the type, by name. */
  readonly params?: GroupBoundsParams | undefined;
}

export interface GroupCap {
  /** Reference column. */
  readonly field: string;
  /** Largest weight of a group. */
  readonly cap: number;
  /** Groups that are capped. Default: every group. */
  readonly groups: readonly string[] | null;
}

export interface GroupCapInput {
  /** Reference column. */
  readonly field: string;
  /** Largest weight of a group. */
  readonly cap: number;
  /** Groups that are capped. Default: every group. */
  readonly groups?: readonly string[] | null | undefined;
}

/** The number of securities held in each group is between two bounds. */
export interface GroupCardinalityParams {
  /** Reference column of the groups. */
  readonly field: string;
  /** Groups of the constraint. Default: every group. */
  readonly groups?: readonly string[] | null | undefined;
  /** Minimum number of holdings in a group. Unit: securities. */
  readonly minimum?: number | undefined;
  /** Maximum number of holdings in a group. Unit: securities. */
  readonly maximum?: number | undefined;
  /** Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated. */
  readonly soft?: number | null | undefined;
  /** Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy. */
  readonly priority?: number | undefined;
}

export interface GroupCardinalityRow {
  readonly type: 'GroupCardinality';
  /** Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position. */
  readonly id?: string | undefined;
  /** Parameters of the type, by name. */
  readonly params?: GroupCardinalityParams | undefined;
}

export interface GroupLadder {
  /** Weights above this value are added up. All other weights are capped at it. */
  readonly each_above: number;
  /** The caps apply if the total of these weights exceeds this value. */
  readonly together_above: number;
  /** Total of these weights if the caps apply. */
  readonly to: number;
}

/** Keeps a maximum number of securities of each group, which are the best by a field. */
export interface GroupLimitParams {
  /** Column whose values are the groups. Securities without a value form one group. */
  readonly field: string;
  /** Datapoint of the ranking within a group. */
  readonly rank_field?: string | DatapointInput | ExpressionNodeInput | undefined;
  /** Maximum number of securities of one group. Unit: securities. */
  readonly maximum: number;
  /** Treatment of a security without a value of the datapoint. In a ranking, an included security without a value is last. */
  readonly missing?: 'exclude' | 'include' | undefined;
}

export interface GroupLimitRule {
  /** Id of the rule, unique within the pipeline. */
  readonly id: string;
  readonly type: 'GroupLimit';
  /** Parameters of the type, by name. */
  readonly params?: GroupLimitParams | undefined;
  /** Parameters that are tried, in order, if the rule keeps too few securities. */
  readonly fallback?: readonly RuleFallback[] | undefined;
}

/** Sets the weights of groups first, and then the weights of the securities within each group. */
export interface GroupWeightParams {
  /** Column whose values are the groups. Securities without a value form one group. */
  readonly field: string;
  /** Weighting of the groups. market_cap uses the free float. */
  readonly between?: 'equal' | 'market_cap' | 'fixed' | undefined;
  /** Weight of each group if the weights are fixed. A group without a weight is not held. Unit: fraction. */
  readonly group_weights?: Readonly<Record<string, number>> | null | undefined;
  /** Weighting of the securities in a group. market_cap uses the free float. */
  readonly within?: 'equal' | 'market_cap' | undefined;
}

export interface GroupWeightWeighting {
  readonly type: 'GroupWeight';
  /** Parameters of the type, by name. */
  readonly params?: GroupWeightParams | undefined;
  /** Maximum weight of a constituent: a number, or an expression such as min(0.09, 3 * weight_in("PARENT")), which is evaluated for each constituent. Default: no maximum. Unit: fraction. */
  readonly cap?: number | string | DatapointInput | ExpressionNodeInput | null | undefined;
  /** Minimum weight of a security. Default: no minimum. Unit: fraction. */
  readonly floor?: number | null | undefined;
  /** Maximum weights of groups. */
  readonly group_caps?: readonly GroupCapInput[] | undefined;
  /** Reference column, such as ISSUER. `cap` and `ladder_caps` then limit the weight of each group of this column instead of each constituent. A constituent without a value is a separate group. */
  readonly cap_by?: string | undefined;
  /** Caps that apply if a limit is exceeded: first caps of single weights, then a cap of the total of large weights. */
  readonly ladder_caps?: LadderCaps | undefined;
  /** Datapoint that multiplies the raw weights. Its changes are phased in over several reviews. */
  readonly phase_in?: PhaseInInput | undefined;
}

export interface HeaderBlock {
  readonly kind: 'header';
  /** Title that is printed above the block. */
  readonly title: string | null;
  /** Index (or strategy) whose latest run the block shows. */
  readonly index_id: string | null;
  /** Width of the block. Two consecutive half blocks are placed next to each other. */
  readonly width: 'full' | 'half';
  /** Subtitle that is printed below the title. */
  readonly subtitle: string | null;
  /** True prints the last date and the settings of the run. */
  readonly stamp: boolean;
  /** True begins a new page. Default: false. */
  readonly new_page?: boolean | undefined;
}

export interface HeaderBlockInput {
  readonly kind: 'header';
  /** Title that is printed above the block. */
  readonly title?: string | null | undefined;
  /** Index (or strategy) whose latest run the block shows. */
  readonly index_id?: string | null | undefined;
  /** Width of the block. Two consecutive half blocks are placed next to each other. */
  readonly width?: 'full' | 'half' | undefined;
  /** Subtitle that is printed below the title. */
  readonly subtitle?: string | null | undefined;
  /** True prints the last date and the settings of the run. */
  readonly stamp?: boolean | undefined;
  /** True begins a new page. Default: false. */
  readonly new_page?: boolean | undefined;
}

export interface Health {
  /** Degraded if no data store is active or a check fails. */
  readonly status: 'ok' | 'degraded';
  /** Reason for the status `degraded`, in one sentence; otherwise null. */
  readonly reason: string | null;
  /** The running engine version. */
  readonly version: string;
  /** Build of the running program; null if it was only compiled. */
  readonly build: {
    /** Commit of the build; null if unknown. */
    readonly commit: string | null;
    /** Time of the build, ISO-8601 UTC. */
    readonly built_at: string;
  } | null;
  /** Start of the process, ISO-8601 UTC with offset. */
  readonly started_at: string;
  /** Seconds since the start of the process. */
  readonly uptime_seconds: number;
  /** The served data store; all members are null if there is none. */
  readonly store: {
    /** Id of the served data store. */
    readonly active: string | null;
    /** State of the data store. */
    readonly status: string | null;
    /** Latest session of the data store, YYYY-MM-DD. */
    readonly end: string | null;
    /** Findings of the last load of the data. `divisor audit STORE` lists the securities. */
    readonly partial_dates: {
      /** Number of dates on which only some securities of the store have a bar. */
      readonly total: number;
      /** The latest five of these dates, YYYY-MM-DD, newest first. */
      readonly latest: readonly string[];
    } | null;
  };
  /** Number of unfinished jobs. */
  readonly jobs: {
    /** Number of waiting jobs. */
    readonly pending: number;
    /** Number of running jobs. */
    readonly running: number;
    /** Queues of all machines. Huge jobs are heavy jobs that are expected to need more than 2 GiB. They use the heavy slots of machines with more memory for jobs. */
    readonly lanes: {
      /** Queue of backtests, optimisations, sweeps and other long jobs. */
      readonly heavy: LaneHealth;
      /** Queue of heavy jobs that are expected to need more than 2 GiB of memory. */
      readonly huge: LaneHealth;
      /** Queue of loads of data stores and documents. */
      readonly light: LaneHealth;
    };
  };
  /** Checks with their results. */
  readonly checks: readonly HealthCheck[];
  /** Served data store and the stores that indices name, each compared with the calendars of its indices. At most a minute old. */
  readonly freshness: readonly StoreFreshness[];
  /** The latest 20 states of this process, newest last. The process checks its state every 15 seconds. */
  readonly states: readonly ({
    /** Time of the change, ISO-8601 UTC with offset. */
    readonly since: string;
    /** State that began at this time. */
    readonly status: 'ok' | 'degraded';
    /** Reason of the state, and messages of the failed checks; null for `ok`. */
    readonly reason: string | null;
  })[];
  /** Every limit that applies to clients, by name. */
  readonly limits: Limits;
}

export interface HealthCheck {
  /** Name of the check. */
  readonly name: string;
  /** True if the check passes. */
  readonly ok: boolean;
  /** True if the check passes but its message needs attention. */
  readonly warning: boolean;
  /** Description of the problem or of the subject, or null. */
  readonly message: string | null;
}

export interface HeldIndex {
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** Session since which the index is held back. */
  readonly since: string;
  /** Step that holds the index back. */
  readonly step: 'refresh' | 'checks' | 'run' | 'compare' | 'publish' | 'export' | 'render' | 'deliver';
  /** Stable error code for programs. */
  readonly code: string | null;
  /** Reason in a sentence. */
  readonly reason: string;
}

/** Orders securities by a tree of their correlations. The weight is split from the root down, in inverse proportion to the variance of each half. */
export interface HierarchicalRiskParityWeightParams {
  /** Number of trailing returns of the sample covariance. Unit: sessions. */
  readonly window?: number | undefined;
  /** Distance between two clusters: between their nearest members (single), between their farthest members (complete), the mean of all pairs (average), or the increase of the variance within them (ward). */
  readonly linkage?: 'single' | 'complete' | 'average' | 'ward' | undefined;
  /** Euclidean distance between columns of correlation distances, as published (columns), or the correlation distance (correlation). */
  readonly distance?: 'columns' | 'correlation' | undefined;
  /** Stored risk model whose covariance replaces the sample covariance. Default: the sample covariance. */
  readonly risk_model?: string | null | undefined;
}

export interface HierarchicalRiskParityWeightWeighting {
  readonly type: 'HierarchicalRiskParityWeight';
  /** Parameters of the type, by name. */
  readonly params?: HierarchicalRiskParityWeightParams | undefined;
  /** Maximum weight of a constituent: a number, or an expression such as min(0.09, 3 * weight_in("PARENT")), which is evaluated for each constituent. Default: no maximum. Unit: fraction. */
  readonly cap?: number | string | DatapointInput | ExpressionNodeInput | null | undefined;
  /** Minimum weight of a security. Default: no minimum. Unit: fraction. */
  readonly floor?: number | null | undefined;
  /** Maximum weights of groups. */
  readonly group_caps?: readonly GroupCapInput[] | undefined;
  /** Reference column, such as ISSUER. `cap` and `ladder_caps` then limit the weight of each group of this column instead of each constituent. A constituent without a value is a separate group. */
  readonly cap_by?: string | undefined;
  /** Caps that apply if a limit is exceeded: first caps of single weights, then a cap of the total of large weights. */
  readonly ladder_caps?: LadderCaps | undefined;
  /** Datapoint that multiplies the raw weights. Its changes are phased in over several reviews. */
  readonly phase_in?: PhaseInInput | undefined;
}

/** Annualised arithmetic means over the window of the risk model, shrunk towards the mean of all securities. */
export interface HistoricalReturns {
  /** Weight of the mean of all securities. With 1, all expected returns are equal. Unit: fraction. */
  readonly shrinkage?: number | undefined;
  readonly type: 'historical';
}

/** The refresh of the day does not change the history of constituents. */
export interface HistoryCheck {
  readonly check: 'history';
  /** Findings block the index (block), or are only reported (warn). Default: block. */
  readonly severity: 'block' | 'warn';
}

/** The refresh of the day does not change the history of constituents. */
export interface HistoryCheckInput {
  readonly check: 'history';
  /** Findings block the index (block), or are only reported (warn). Default: block. */
  readonly severity?: 'block' | 'warn' | undefined;
}

/** Keeps securities with price bars on a minimum fraction of the trailing sessions. */
export interface HistoryFilterParams {
  /** Number of trailing sessions. Unit: sessions. */
  readonly sessions?: number | undefined;
  /** Minimum fraction of the sessions with a price bar. Unit: fraction. */
  readonly coverage?: number | undefined;
  /** Treatment of a security without a value of the datapoint. In a ranking, an included security without a value is last. */
  readonly missing?: 'exclude' | 'include' | undefined;
}

export interface HistoryFilterRule {
  /** Id of the rule, unique within the pipeline. */
  readonly id: string;
  readonly type: 'HistoryFilter';
  /** Parameters of the type, by name. */
  readonly params?: HistoryFilterParams | undefined;
  /** Parameters that are tried, in order, if the rule keeps too few securities. */
  readonly fallback?: readonly RuleFallback[] | undefined;
}

export interface IdentifierSearch {
  /** Matching names. */
  readonly identifiers: readonly ({
    /** Asset identifier. */
    readonly identifier: string;
    /** Display name, if the reference data has one. */
    readonly name: string | null;
    /** First bar. */
    readonly start: string | null;
    /** Last bar. */
    readonly end: string | null;
    /** Latest SECTOR of the reference data. */
    readonly sector: string | null;
    /** Latest CURRENCY of the reference data. Default: the currency of the store. */
    readonly currency: string | null;
    /** CLOSE of the last bar, as stored. */
    readonly close: number | null;
    /** MARKET_CAP on the date of the last bar. */
    readonly market_cap: number | null;
  })[];
  /** Value of `after` for the next page; null on the last page. */
  readonly next: string | null;
}

export interface ImportRequest {
  /** Display name. */
  readonly name: string;
  /** Id of the store. Default: the name in lower case, with other characters replaced by dashes. */
  readonly store_id?: string | undefined;
  /** Format of the content: an Excel workbook, a zip archive of CSV files, or a zip archive of workbooks with one sheet each. With csv, the content can also be a single CSV file. */
  readonly format?: 'xlsx' | 'csv.zip' | 'csv' | undefined;
  /** Price basis of CLOSE: as traded, divided by later splits, or by splits and dividends. */
  readonly adjustment?: 'none' | 'splits' | 'total' | undefined;
  /** Currency of securities without a CURRENCY. An append does not change the currency of the store. */
  readonly currency?: string | null | undefined;
  /** Mapping of a market that does not follow the template. */
  readonly mapping?: MappingInput | null | undefined;
  /** Activate the store immediately. */
  readonly activate?: boolean | undefined;
  /** Action if the id is already used. append adds new rows to an imported store. */
  readonly on_exists?: 'refuse' | 'replace' | 'append' | undefined;
  /** The file in base64. */
  readonly content?: string | null | undefined;
  /** Tables in the request, instead of content: market, reference, corporate_actions, universes, series. */
  readonly tables?: Readonly<Record<string, TableFrame>> | null | undefined;
}

export interface ImportResult {
  /** The store. */
  readonly store: DataStore;
  /** Rows per dataset: rows that were read, and actions that were derived from adjusted closes. */
  readonly rows: Readonly<Record<string, number>>;
  /** Distinct identifiers. */
  readonly identifiers: number;
  /** First date. */
  readonly start: string | null;
  /** Last date. */
  readonly end: string | null;
  /** Data warnings, which do not block the import. */
  readonly findings: readonly Finding[];
}

export interface ImportedModelDate {
  /** Day from which the model applies, ascending. */
  readonly date: string;
  /** Covariances of the securities, in the form of GET /risk-models/{model_id}. */
  readonly covariance?: {
    /** Securities. */
    readonly index: readonly string[];
    /** The same securities. */
    readonly columns: readonly string[];
    /** Rows of numbers. */
    readonly data: readonly (readonly unknown[])[];
  } | undefined;
  /** B: exposures of the securities to the factors, with factor_covariance and specific_variances. */
  readonly exposures?: {
    /** Securities. */
    readonly index: readonly string[];
    /** Factors. */
    readonly columns: readonly string[];
    /** Rows of numbers. */
    readonly data: readonly (readonly unknown[])[];
  } | undefined;
  /** F: covariances of the factors. */
  readonly factor_covariance?: {
    /** Factors. */
    readonly index: readonly string[];
    /** The same factors. */
    readonly columns: readonly string[];
    /** Rows of numbers. */
    readonly data: readonly (readonly unknown[])[];
  } | undefined;
  /** D: specific variances by security. */
  readonly specific_variances?: Readonly<Record<string, unknown>> | undefined;
}

export interface ImportedModelPayload {
  /** Period of variances and covariances: year or session. Values per session are multiplied by `annualisation`. */
  readonly units: 'annual' | 'daily';
  /** Number of sessions per year, for daily units. */
  readonly annualisation: number;
  /** True replaces covariances that are not symmetric by the mean of both values, and negative eigenvalues by 0 without changing variances. By default, both are errors. */
  readonly repair: boolean;
  /** Ascending. */
  readonly dates: readonly {
    /** Day from which the model applies. */
    readonly date: string;
    /** Securities of the date. */
    readonly assets: number;
    /** True if negative eigenvalues were clipped. */
    readonly repaired: boolean;
    /** Smallest eigenvalue of the matrix in the response. */
    readonly smallest_eigenvalue: number;
    /** Securities of other dates that have no covariance on this date. */
    readonly lacks: readonly string[];
  }[];
}

/** Keeps only the securities of a list. */
export interface IncludeListParams {
  /** Asset identifiers. */
  readonly identifiers: readonly string[];
}

export interface IncludeListRule {
  /** Id of the rule, unique within the pipeline. */
  readonly id: string;
  readonly type: 'IncludeList';
  /** Parameters of the type, by name. */
  readonly params?: IncludeListParams | undefined;
  /** Parameters that are tried, in order, if the rule keeps too few securities. */
  readonly fallback?: readonly RuleFallback[] | undefined;
}

export interface IndexAction {
  /** First day without the entitlement. */
  readonly ex_date: string;
  /** Asset identifier. */
  readonly identifier: string;
  /** Type in the store. SILENT_DELISTING: the security left because it had no price during the waiting period of the treatment; the value is its last price. SPIN_OFF_EXIT: a security spun off from `related` left at its first close (`spin_offs: "drop_after_first_session"`), with the shares held until then. */
  readonly type: 'DIVIDEND' | 'SPECIAL_DIVIDEND' | 'RETURN_OF_CAPITAL' | 'SPLIT' | 'STOCK_DIVIDEND' | 'BONUS_ISSUE' | 'RIGHTS_ISSUE' | 'SPIN_OFF' | 'MERGER' | 'ACQUISITION' | 'DELISTING' | 'TICKER_CHANGE' | 'SILENT_DELISTING' | 'SPIN_OFF_EXIT';
  /** As in the store. Dividends and returns of capital: cash per share. Splits, stock dividends and bonus issues: share-count multiplier. Rights issue: new shares per share held. Spin-off or merger: shares of `related` per share held. Acquisition or delisting: price paid per share. Null if a security ends and the payment per share is unknown. */
  readonly value: number | null;
  /** Other identifier of a spin-off, merger or ticker change. */
  readonly related: string | null;
  /** Cash per share that a merger pays in addition to the shares of `related`; null if it pays none. */
  readonly cash: number | null;
  /** Day of the announcement; null if unknown. */
  readonly announced: string | null;
  /** `coming`: the ex-date is after as_of, and the action was known on as_of. The figures after the action are then pro forma. */
  readonly state: 'effective' | 'coming';
  /** True if the holder must still decide. This applies to a rights issue, to a dividend with a scrip_ratio, and to two offers for a security on one ex-date: an ACQUISITION (cash) and a MERGER (shares). The decision is open until the election_date or, if it is unknown, until the ex-date. */
  readonly awaits_decision: boolean;
  /** Last day of the election; null if unknown. */
  readonly election_date: string | null;
  /** Default of the election; null if unknown. */
  readonly election_default: 'cash' | 'shares' | 'take_up' | 'sell' | 'sell_to_fund' | 'lapse' | null;
  /** Result of each choice at the theoretical price ex rights or ex dividend; empty if there is no choice or the subscription price is unknown. */
  readonly choices: readonly ActionChoice[];
  /** Previous close of the security in its currency; for a coming action, the close on as_of. */
  readonly price_before: number | null;
  /** Weight at the previous close; for a coming action, on as_of. */
  readonly weight_before: number;
  /** Weight at the close of the ex-date; pro forma at prices that change only because of the action. */
  readonly weight_after: number | null;
  /** Index shares: weight times level, divided by price. */
  readonly shares_before: number;
  /** Index shares after the action; null if they depend on a decision. */
  readonly shares_after: number | null;
  /** Divisor of the index at the previous close; for a coming action, on as_of. Null for a strategy. */
  readonly divisor_before: number | null;
  /** Divisor after the action and all other events of its session, at the close of the ex-date. For a coming action, pro forma at the close of as_of; later price changes affect the actual divisor. Null if it is not yet known. */
  readonly divisor_after: number | null;
  /** Ordinary dividend before tax as a fraction of the level before it. The total return variant reinvests it; the price return variant has no effect. Null for other actions, and if prices include dividends. */
  readonly dividend_return: number | null;
  /** Part of `dividend_return` that the net return variant reinvests. */
  readonly net_dividend_return: number | null;
  /** Ordinary dividend before tax in index points: `dividend_return` times the level before it. If the return variants share index shares and divisor, this is the amount per share times the index shares over the divisor. Null where `dividend_return` is null. */
  readonly dividend_points: number | null;
  /** Part of `dividend_points` after withholding tax. */
  readonly net_dividend_points: number | null;
  /** Cash per share held before, in the currency of the security, if the action removes the security. The index uses this cash to buy the other constituents. For a merger into shares and cash, the cash part. For a past action, the value that the run applied. Otherwise null. */
  readonly proceeds: number | null;
  /** Shares of the security that replaces this security. For a spin-off, shares of the new security, with weight 0 before its first close, and also after it if the security then leaves. For a past action, the shares that the run applied. Otherwise null. */
  readonly received: ReceivedShares | null;
}

export interface IndexBooksPayload {
  /** Series of the definition; for a derived index, the series of its parent. */
  readonly target: BookPayload | null;
  /** Series of the derived index; null for a rule-based index. */
  readonly optimised: BookPayload | null;
}

export interface IndexCollection {
  /** Summaries by id. */
  readonly indices: readonly IndexSummary[];
  /** Number of stored documents that are omitted because they cannot be read. */
  readonly skipped: number;
  /** Number of omitted documents by cause. */
  readonly skipped_causes: SkippedCauses;
}

export interface IndexDeletion {
  /** Index of the request, followed by the indices that depend on it, depth first in the order of their ids. */
  readonly deleted: readonly DeletedIndex[];
}

export interface IndexDocument {
  /** 1 to 64 letters, digits, dashes and underscores. */
  readonly id: string;
  /** Name that is shown next to the id. */
  readonly name: string;
  /** Description of the index, free text. */
  readonly description: string | null;
  /** Exchange whose sessions the index uses. */
  readonly calendar: string;
  /** The first rebalance is on the first session on or after this date. */
  readonly base_date: string;
  /** Level on the first session. Unit: points. */
  readonly base_value: number;
  /** Market value on the first session. The initial divisor is this value divided by the base value. Default: the base value, so that the initial divisor is 1. Unit: money. */
  readonly base_market_value?: number | undefined;
  /** ISO 4217 code of the currency of the level. An overlay has the currency into which it converts, otherwise the currency of the underlying index. */
  readonly currency: string;
  /** Data store on which the index is computed, even if another store is active. Null: the active store. */
  readonly store_id?: string | null | undefined;
  /** Universe of the selection. */
  readonly universe?: UniverseSpec | undefined;
  /** Schedule of the rebalances. */
  readonly rebalance: RebalanceSpec;
  /** Reviews in addition to the rebalance, each with its schedule and scope. On the same date, they run in the order membership, weights, shares. */
  readonly reviews?: readonly ReviewSpec[] | undefined;
  /** Expressions of datapoints by name. The document can use these names like datapoints. They have priority over columns of the store. */
  readonly datapoints?: Readonly<Record<string, string | ExpressionNode>> | undefined;
  /** Stored plug-ins by name. Each name is a datapoint of the document, and PluginFilter and PluginWeight refer to it. */
  readonly plugins?: Readonly<Record<string, {
    /** Id of the stored plug-in. Its version when the index is computed is used. */
    readonly plugin: string;
    /** Values of parameters. Omitted parameters have their defaults. */
    readonly parameters: Readonly<Record<string, number | string | boolean>>;
    /** Plug-in with which a run was computed; only in the documents of runs. Ignored in requests. */
    readonly code?: {
      /** Kind of the object. */
      readonly kind: 'datapoint' | 'selection' | 'weighting';
      /** SHA-256 of the stored plug-in. */
      readonly sha256: string;
      /** Inputs, in the order of the program. */
      readonly inputs: readonly {
        /** Display name. */
        readonly name: string;
        /** Expression that computes the values. */
        readonly expression: ExpressionNode;
        /** Number of trailing sessions. Each session has one value for each security. */
        readonly sessions: number;
      }[];
      /** Parameters, with defaults for omitted parameters. */
      readonly parameters: Readonly<Record<string, number | string | boolean>>;
      /** Source code of the plug-in. */
      readonly source: string;
    } | undefined;
  }>> | undefined;
  /** Decimals of levels, divisor, index shares and weights. A half is rounded away from zero. */
  readonly rounding?: RoundingSpec | undefined;
  /** Rules of a rule-based index. A definition has exactly one of pipeline and derivation. */
  readonly pipeline: PipelineSpec | null;
  /** Changes between reviews. Default: no changes. */
  readonly events?: EventsSpec | undefined;
  /** Optimisation of a derived index. A definition has exactly one of pipeline and derivation. */
  readonly derivation: DerivationPayload | null;
  /** Definition of an overlay; only in an overlay on another index. */
  readonly kind?: 'overlay' | undefined;
  /** Underlying index of an overlay. A blend lists its parts instead. */
  readonly source_index_id?: string | undefined;
  /** Type and parameters of an overlay on its underlying index. */
  readonly overlay?: OverlaySpec | undefined;
  /** Changes of the methodology by date, earliest first. The history before each date does not change. */
  readonly amendments?: readonly Amendment[] | undefined;
  /** Recorded changes of calendars with which a run was computed; only in the documents of runs. Ignored in requests. */
  readonly closures?: Readonly<Record<string, {
    /** Changes, one for each date. */
    readonly changes: readonly SessionChange[];
    /** Version of the recorded changes. */
    readonly version: number;
  }>> | undefined;
  /** Free labels. */
  readonly tags: readonly string[];
}

/** An IndexDocument with the parameters of every rule and weighting class. */
export interface IndexDocumentBody {
  /** 1 to 64 letters, digits, dashes and underscores. */
  readonly id: string;
  /** Name that is shown next to the id. */
  readonly name: string;
  /** Description of the index, free text. */
  readonly description?: string | null | undefined;
  /** Exchange whose sessions the index uses. */
  readonly calendar: string;
  /** The first rebalance is on the first session on or after this date. */
  readonly base_date: string;
  /** Level on the first session. Unit: points. */
  readonly base_value?: number | undefined;
  /** Market value on the first session. The initial divisor is this value divided by the base value. Default: the base value, so that the initial divisor is 1. Unit: money. */
  readonly base_market_value?: number | undefined;
  /** ISO 4217 code of the currency of the level. An overlay has the currency into which it converts, otherwise the currency of the underlying index. */
  readonly currency?: string | undefined;
  /** Data store on which the index is computed, even if another store is active. Null: the active store. */
  readonly store_id?: string | null | undefined;
  /** Universe of the selection. */
  readonly universe?: UniverseSpecInput | undefined;
  /** Schedule of the rebalances. */
  readonly rebalance?: RebalanceSpecInput | undefined;
  /** Reviews in addition to the rebalance, each with its schedule and scope. On the same date, they run in the order membership, weights, shares. */
  readonly reviews?: readonly ReviewSpecInput[] | undefined;
  /** Expressions of datapoints by name. The document can use these names like datapoints. They have priority over columns of the store. */
  readonly datapoints?: Readonly<Record<string, string | ExpressionNodeInput>> | undefined;
  /** Stored plug-ins by name. Each name is a datapoint of the document, and PluginFilter and PluginWeight refer to it. */
  readonly plugins?: Readonly<Record<string, {
    /** Id of the stored plug-in. Its version when the index is computed is used. */
    readonly plugin: string;
    /** Values of parameters. Omitted parameters have their defaults. */
    readonly parameters?: Readonly<Record<string, number | string | boolean>> | undefined;
    /** Plug-in with which a run was computed; only in the documents of runs. Ignored in requests. */
    readonly code?: {
      /** Kind of the object. */
      readonly kind: 'datapoint' | 'selection' | 'weighting';
      /** SHA-256 of the stored plug-in. */
      readonly sha256: string;
      /** Inputs, in the order of the program. */
      readonly inputs: readonly {
        /** Display name. */
        readonly name: string;
        /** Expression that computes the values. */
        readonly expression: ExpressionNodeInput;
        /** Number of trailing sessions. Each session has one value for each security. */
        readonly sessions: number;
      }[];
      /** Parameters, with defaults for omitted parameters. */
      readonly parameters: Readonly<Record<string, number | string | boolean>>;
      /** Source code of the plug-in. */
      readonly source: string;
    } | undefined;
  }>> | undefined;
  /** Decimals of levels, divisor, index shares and weights. A half is rounded away from zero. */
  readonly rounding?: RoundingSpec | undefined;
  /** Rules of a rule-based index. A definition has exactly one of pipeline and derivation. */
  readonly pipeline?: PipelineBody | null | undefined;
  /** Changes between reviews. Default: no changes. */
  readonly events?: EventsSpecInput | undefined;
  /** Optimisation of a derived index. A definition has exactly one of pipeline and derivation. */
  readonly derivation?: DerivationPayloadInput | null | undefined;
  /** Definition of an overlay; only in an overlay on another index. */
  readonly kind?: 'overlay' | undefined;
  /** Underlying index of an overlay. A blend lists its parts instead. */
  readonly source_index_id?: string | undefined;
  /** Type and parameters of an overlay on its underlying index. */
  readonly overlay?: OverlaySpecInput | undefined;
  /** Changes of the methodology by date, earliest first. The history before each date does not change. */
  readonly amendments?: readonly Amendment[] | undefined;
  /** Recorded changes of calendars with which a run was computed; only in the documents of runs. Ignored in requests. */
  readonly closures?: Readonly<Record<string, {
    /** Changes, one for each date. */
    readonly changes: readonly SessionChange[];
    /** Version of the recorded changes. */
    readonly version: number;
  }>> | undefined;
  /** Free labels. */
  readonly tags?: readonly string[] | undefined;
}

export interface IndexEvent {
  /** The date. */
  readonly date: string;
  /** `holiday`: weekday on which the exchange is closed; `early_close`: session that closes before the usual time by the rules of the exchange calendar; `closure`: recorded change of the sessions of an exchange: a closure, a half day, a late opening, an added session; `announcement`: session on which a composition is announced, if it is before the effective date; `effective`: date on which a rebalance takes effect, at its close; `expiry`: expiry of index futures: the third Friday of March, June, September and December, or the previous session */
  readonly kind: 'holiday' | 'early_close' | 'closure' | 'announcement' | 'effective' | 'expiry';
  /** Index of the event; null for an event of an exchange. */
  readonly index_id: string | null;
  /** Exchange MIC. */
  readonly calendar: string;
  /** Effective date of the rebalance; null for other events. */
  readonly effective: string | null;
  /** Trigger of the rebalance: the schedule, or a breach in the newest run; null for other events. */
  readonly cause: 'schedule' | 'breach' | 'replacement' | 'fast_entry' | 'fast_exit' | null;
  /** The rule whose breach triggers the rebalance; null for other events. */
  readonly rule: 'UCITS_5_10_40' | 'UCITS_20_35' | 'RIC_25_5_50' | 'SEC_75_5_10' | null;
  /** Description of the event. */
  readonly summary: string;
}

export interface IndexExplanation {
  /** Version of the explained definition. Null if it has no versions; absent for a source. */
  readonly index_version?: number | null | undefined;
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** Asset identifier. */
  readonly identifier: string;
  /** Requested value; null if omitted. */
  readonly requested_as_of: string | null;
  /** Session of the explanation. */
  readonly as_of: string;
  /** Effective date of the composition in force. */
  readonly rebalance_date: string;
  /** Session whose data was used. */
  readonly decision_date: string;
  /** Reviews that decided the composition, in order. `rebalance` is the review of the document itself. */
  readonly reviews: readonly string[];
  /** True if the security could be selected on the decision date. */
  readonly in_universe: boolean;
  /** True if the index holds the security at the close of as_of. Constituents can also change between rebalances. */
  readonly included: boolean;
  /** First rule that excluded the security; null if no rule excluded it. */
  readonly excluded_by: string | null;
  /** Values that the definition read for the security. */
  readonly datapoints: readonly ExplainedDatapoint[];
  /** Every rule and its result for the security. */
  readonly rules: readonly ExplainedRule[];
  /** Computation of the uncapped weight from the datapoints; null for an excluded security. */
  readonly weighting: {
    /** Class name. */
    readonly type: string;
    /** The formula of the raw weight. */
    readonly formula: string;
    /** Values of the formula. */
    readonly parts: Readonly<Record<string, string | number | boolean | null>>;
    /** Raw weight. */
    readonly raw: number;
    /** Sum of the raw weights of all securities. */
    readonly raw_total: number;
    /** raw / raw_total. */
    readonly uncapped_weight: number;
  } | null;
  /** Effect of the cap on the weight; null for an excluded security. */
  readonly capping: {
    /** Maximum weight of a security; null if there is none. */
    readonly cap: number | null;
    /** Minimum weight of a security. */
    readonly floor: number;
    /** weight = min(cap, max(floor, scale * uncapped_weight)). */
    readonly scale: number;
    /** True if the cap limits the weight of the security. */
    readonly capped: boolean;
    /** Redistribution under a single cap. Each round scales the uncapped securities, and then caps the securities above the cap. */
    readonly rounds: readonly {
      /** Factor applied to the weights that are not capped. */
      readonly scale: number;
      /** Securities that reach the cap in the round. */
      readonly capped: readonly string[];
    }[];
  } | null;
  /** Optimisation of a derived index. Rules, weighting and capping then describe the source. Null for a rule-based index. */
  readonly derivation: DerivedSource | null;
  /** Fraction of the decided weights that is still held on the effective date, because securities can leave before it. The applied weight is the decided weight divided by this fraction. */
  readonly stayed: number;
  /** Decided weight, if it was converted to index shares before the effective close (`rebalance.weights_as: "shares"` with notice). The applied weight is then the weight of these shares. Otherwise null. */
  readonly decided_weight: number | null;
  /** Applied weight of the composition in force; null if the security is excluded. */
  readonly weight: number | null;
  /** Weight held at the close of as_of; null if the security is not held. */
  readonly held_weight: number | null;
  /** Last entry into the index on or before as_of; null if there is none. */
  readonly entered: ConstituentChange | null;
  /** Last exit from the index on or before as_of; null if there is none. It is earlier than `entered` if the security re-entered. */
  readonly left: ConstituentChange | null;
  /** Changes between reviews by which the security entered or left on or before as_of, in order. */
  readonly replacements: readonly Replacement[];
  /** Pending order for the security; null if there is none. */
  readonly order: WaitingOrder | null;
  /** Weight held on as_of and its change since the rebalance; null on the rebalance date. */
  readonly drift: {
    /** Weight held after the close. */
    readonly held_weight: number | null;
    /** Value after less value before. */
    readonly change: number;
  } | null;
}

export interface IndexMoves {
  /** Return of the last session, a fraction; null with a single date. */
  readonly day_return: number | null;
  /** Return since the last date of the previous calendar year, or since the first date of the run. A fraction. */
  readonly year_to_date: number;
  /** Annualised standard deviation of the returns of the last year (252 returns, or 365 if the calendar trades every day), or of all returns if there are fewer. A fraction. */
  readonly volatility: number;
  /** Last level divided by the first, less 1. A fraction. */
  readonly total_return: number;
  /** Lowest drawdown, at most 0. A fraction. */
  readonly max_drawdown: number;
  /** Levels of the last year: every fourth date from the last one on or before the same day one year earlier (or from the first date of the run), and the last date. */
  readonly trace: SeriesPayload;
}

export interface IndexSummary {
  /** Id: 1 to 64 letters, digits, dashes and underscores. */
  readonly id: string;
  /** Display name. */
  readonly name: string;
  /** Type of the definition: rules, an optimisation, or other indices. */
  readonly kind: 'rule' | 'derived' | 'overlay';
  /** Parent of a derived index, or underlying index of an overlay; null for a blend. */
  readonly source_index_id: string | null;
  /** Exchange MIC from /indices/calendars. */
  readonly calendar: string;
  /** ISO 4217 code. */
  readonly currency: string;
  /** Base date: the first rebalance is on the first session on or after this date. */
  readonly base_date: string;
  /** Data store of the index: its own, or that of an index to which it refers; null for the active store. */
  readonly store_id: string | null;
  /** True if a backtest record is stored. */
  readonly has_run: boolean;
  /** Time of the backtest record. */
  readonly run_at: string | null;
  /** Labels of the document. */
  readonly tags: readonly string[];
  /** Documents that the definition names and that are not stored any more, such as a part of a blend. */
  readonly problems: readonly Finding[];
}

export interface InspectRequest {
  /** Folder, or connection URL of a database, as for a store. */
  readonly location?: string | undefined;
  /** File in base64, instead of a location. CSV can also be sent as text. */
  readonly content?: string | undefined;
  /** Format of the content, as for an import. `parquet` is one table of prices. */
  readonly format?: 'xlsx' | 'csv.zip' | 'csv' | 'parquet' | undefined;
  /** Mapping to test, instead of a proposal. */
  readonly mapping?: MappingInput | null | undefined;
  /** Known answers. The inspection asks no questions about them. */
  readonly answers?: MappingAnswers | undefined;
  /** File or table of a dataset, if its name differs from the name of the dataset. */
  readonly tables?: Readonly<Record<string, string>> | undefined;
}

export interface InspectResult {
  /** Number of files, sheets or tables of the market. */
  readonly files: number;
  /** Number of bars read with the mapping; 0 if findings prevent it. */
  readonly rows_read: number;
  /** Proposed mapping, in the form that a store or an import accepts. */
  readonly mapping: Mapping;
  /** Table of the market, if it has another name in the database. */
  readonly tables: Readonly<Record<string, string>>;
  /** Price basis of CLOSE: as traded, divided by later splits, or by splits and dividends. */
  readonly adjustment: 'none' | 'splits' | 'total';
  /** Proposed adjustment, and its reason. */
  readonly basis: AdjustmentChoice;
  /** `sure`: a vendor was recognised. `likely`: the column names indicate the mapping. `unsure`: a question must be answered. */
  readonly confidence: 'sure' | 'likely' | 'unsure';
  /** Vendor or program that writes tables in this format. */
  readonly recognised_as: string | null;
  /** Questions that the data does not answer. */
  readonly questions: readonly string[];
  /** Questions as findings, each at its field. */
  readonly unsure: readonly MappingQuestion[];
  /** First bars of the first security, as read with the mapping. */
  readonly preview: TableFrame;
  /** Findings of a complete reading with the mapping. */
  readonly findings: readonly Finding[];
  /** Names of all files, sheets or tables with errors, also of those that `findings` only counts. Empty if not all of them were examined. */
  readonly faulty_files: readonly string[];
}

/** Weights in proportion to the inverse of annualised volatility. The volatility uses the returns between price bars on consecutive sessions. */
export interface InverseVolatilityWeightParams {
  /** Number of trailing sessions of the volatility. Unit: sessions. */
  readonly window?: number | undefined;
  /** A security needs at least this number of returns. Unit: sessions. */
  readonly minimum_observations?: number | undefined;
}

export interface InverseVolatilityWeightWeighting {
  readonly type: 'InverseVolatilityWeight';
  /** Parameters of the type, by name. */
  readonly params?: InverseVolatilityWeightParams | undefined;
  /** Maximum weight of a constituent: a number, or an expression such as min(0.09, 3 * weight_in("PARENT")), which is evaluated for each constituent. Default: no maximum. Unit: fraction. */
  readonly cap?: number | string | DatapointInput | ExpressionNodeInput | null | undefined;
  /** Minimum weight of a security. Default: no minimum. Unit: fraction. */
  readonly floor?: number | null | undefined;
  /** Maximum weights of groups. */
  readonly group_caps?: readonly GroupCapInput[] | undefined;
  /** Reference column, such as ISSUER. `cap` and `ladder_caps` then limit the weight of each group of this column instead of each constituent. A constituent without a value is a separate group. */
  readonly cap_by?: string | undefined;
  /** Caps that apply if a limit is exceeded: first caps of single weights, then a cap of the total of large weights. */
  readonly ladder_caps?: LadderCaps | undefined;
  /** Datapoint that multiplies the raw weights. Its changes are phased in over several reviews. */
  readonly phase_in?: PhaseInInput | undefined;
}

export interface JobAttempt {
  /** Number of the attempt, from 1. */
  readonly attempt: number;
  /** Process of the attempt, as listed by `divisor nodes`; null if a single process uses a home. */
  readonly node: string | null;
  /** Start of the attempt. */
  readonly started_at: string;
  /** Time of the last heartbeat of the attempt. */
  readonly heartbeat_at: string | null;
  /** End of the attempt; null while it runs. */
  readonly ended_at: string | null;
  /** `crashed`: its thread ended. `lost`: its process ended, did not send heartbeats or was disconnected. `released`: the job was returned to the queue. The setting job-retries limits the number of each outcome. Null while the attempt runs. */
  readonly end: 'succeeded' | 'failed' | 'cancelled' | 'crashed' | 'lost' | 'released' | null;
  /** Reason why the attempt crashed, was lost, was released or failed. */
  readonly reason: string | null;
}

export interface JobCallback {
  /** Header webhook-id of the message, the same in every attempt. */
  readonly delivery_id: string;
  /** Address of the receiver. */
  readonly url: string;
  /** State of the delivery: `waiting` until the job ends, then `due` until the receiver accepts the message. The final state is `delivered`, or `failed` after the last attempt. */
  readonly state: 'waiting' | 'due' | 'delivered' | 'failed';
  /** Number of attempts. */
  readonly attempts: number;
  /** Time of the last attempt. */
  readonly last_attempt_at: string | null;
  /** Reason why the last attempt failed; null if it succeeded. */
  readonly last_error: string | null;
  /** Time of the next attempt; only while the message is due. */
  readonly next_attempt_at: string | null;
}

export interface JobCollection {
  /** Jobs, newest first. `result` of every job is null. */
  readonly jobs: readonly JobStatus[];
  /** Number of stored documents that are omitted because they cannot be read. */
  readonly skipped: number;
  /** Number of omitted documents by cause. */
  readonly skipped_causes: SkippedCauses;
}

export interface JobKindList {
  /** Kinds of jobs, in a fixed order. */
  readonly kinds: readonly JobKindState[];
}

export interface JobKindPause {
  /** Reason, which is shown with the kind. */
  readonly reason?: string | null | undefined;
}

/** A kind of job. */
export interface JobKindState {
  /** Kind of the object. */
  readonly kind: 'backtest' | 'optimise' | 'render' | 'risk' | 'validate' | 'sync' | 'load' | 'refresh' | 'generate' | 'sweep' | 'batch' | 'account' | 'rerun' | 'study' | 'simulate' | 'replay' | 'diff' | 'differences';
  /** Queue of the kind. Jobs of the light lane run in parallel to jobs of the heavy lane. */
  readonly lane: 'heavy' | 'light';
  /** Pause of the kind; null if it is not paused. */
  readonly pause: {
    /** Time of the pause, ISO-8601 UTC with offset. */
    readonly paused_at: string;
    /** Name of the key that paused the kind; `local` without authentication. */
    readonly author: string;
    /** Reason in the request. */
    readonly reason: string | null;
  } | null;
}

export interface JobRetries {
  /** Jobs that were queued again, newest first. */
  readonly retried: readonly string[];
  /** Failed jobs that were not queued again, with the reason. */
  readonly refused: readonly {
    /** {kind}:{id}, for example backtest:LARGE-100. */
    readonly job_id: string;
    /** Stable error code for programs. */
    readonly code: string;
    /** Message in one sentence. */
    readonly message: string;
  }[];
  /** False if more failed jobs match than the limit. */
  readonly is_complete: boolean;
}

export interface JobRetryRequest {
  /** Kinds of jobs. Default: all kinds. */
  readonly kinds?: readonly ('backtest' | 'optimise' | 'render' | 'risk' | 'validate' | 'sync' | 'load' | 'refresh' | 'generate' | 'sweep' | 'batch' | 'account' | 'rerun' | 'study' | 'simulate' | 'replay' | 'diff' | 'differences')[] | undefined;
  /** Ids of jobs. Only failed jobs are queued again. Default: all failed jobs. */
  readonly job_ids?: readonly string[] | undefined;
  /** Only jobs that failed at or after this time, with an offset. Default: no limit. */
  readonly since?: string | undefined;
  /** Maximum number of jobs, newest first. */
  readonly limit?: number | undefined;
}

/** A job of any kind. */
export interface JobStatus {
  /** {kind}:{id}, for example backtest:LARGE-100. */
  readonly job_id: string;
  /** Kind of the object. */
  readonly kind: 'backtest' | 'optimise' | 'render' | 'risk' | 'validate' | 'sync' | 'load' | 'refresh' | 'generate' | 'sweep' | 'batch' | 'account' | 'rerun' | 'study' | 'simulate' | 'replay' | 'diff' | 'differences';
  /** Order in which waiting jobs start. */
  readonly priority: 'high' | 'normal' | 'low';
  /** pending -> running -> succeeded, failed or cancelled. Terminal states never change. */
  readonly status: 'pending' | 'running' | 'succeeded' | 'failed' | 'cancelled';
  /** Completed fraction: 0 while pending, exactly 1 after success. It never decreases during an attempt. */
  readonly progress: number;
  /** Current step. */
  readonly message: string;
  /** Error of the job; only if it failed. */
  readonly error: ErrorDetail | null;
  /** Time of the submission, ISO-8601 UTC with offset. */
  readonly created_at: string;
  /** Start of the current attempt. */
  readonly started_at: string | null;
  /** Time of the end, ISO-8601 UTC with offset; null while it has not ended. */
  readonly finished_at: string | null;
  /** Time of the last heartbeat of the running attempt. */
  readonly heartbeat_at: string | null;
  /** Number of starts, which is recorded before the work starts. */
  readonly attempt: number;
  /** Latest attempts in order, at most eleven. The last one is the current attempt. */
  readonly attempts: readonly JobAttempt[];
  /** Request body as it was accepted. */
  readonly request: unknown;
  /** SHA-256 of all inputs except the market. */
  readonly input_hash: string;
  /** X-Request-Id of the submission, which log lines of the job contain. Null if the service submitted the job. */
  readonly request_id: string | null;
  /** Trace of the submission, from its header traceparent. */
  readonly trace_id: string | null;
  /** Addresses that are notified when the job ends. */
  readonly callbacks: readonly JobCallback[];
  /** Result of the job; only if it succeeded. Its schema depends on the kind. */
  readonly result: unknown;
}

/** Decision of a person about a day of a schedule. */
export interface Judgement {
  /** Number, from 1 without gaps, counted by schedule. */
  readonly seq: number;
  /** Time of the decision, ISO-8601 UTC with offset. */
  readonly at: string;
  /** Name of the key; `local` without authentication. */
  readonly author: string;
  /** Id of the key; null without authentication. */
  readonly key_id: string | null;
  /** Decision. */
  readonly action: 'run' | 'backfill' | 'skip' | 'waive';
  /** The schedule. */
  readonly schedule_id: string;
  /** Session of the decision; for a backfill, the first session. */
  readonly date: string;
  /** Last session of a backfill; null for other decisions and for backfills of earlier versions. */
  readonly last_date: string | null;
  /** Number of sessions of the decision; null for decisions of earlier versions. */
  readonly sessions: number | null;
  /** Indices of the decision, in the order of the schedule; empty for decisions of earlier versions. */
  readonly indices: readonly string[];
  /** Index of a waiver; null for every index. */
  readonly index_id: string | null;
  /** Check that was waived; null for other decisions. */
  readonly check: string | null;
  /** Security of a waiver; null for every finding of the check. */
  readonly identifier: string | null;
  /** Findings that a waiver accepted; at most 200. */
  readonly findings: readonly AcceptedFinding[];
  /** Approval of the decision; null if it needed none. */
  readonly approval_id: number | null;
  /** Names of the people who approved the decision. */
  readonly approved_by: readonly string[];
  /** Why. */
  readonly reason: string | null;
}

export interface Judgements {
  /** Newest first. */
  readonly judgements: readonly Judgement[];
}

export interface LadderCaps {
  /** First stage. */
  readonly single?: SingleLadder | undefined;
  /** Second stage. */
  readonly group?: GroupLadder | undefined;
}

/** Load of a queue, for scaling the workers. */
export interface LaneHealth {
  /** Jobs that wait for a slot. */
  readonly waiting: number;
  /** Running jobs. */
  readonly running: number;
  /** Maximum number of running jobs on all nodes. */
  readonly places: number;
  /** Waiting time of the oldest job in seconds; null if no job waits. */
  readonly oldest_wait_seconds: number | null;
}

export interface LevelChange {
  /** The date. */
  readonly date: string;
  /** Level. */
  readonly variant: 'price' | 'total' | 'net';
  /** Index points. */
  readonly published: number;
  /** Level of the run in index points. */
  readonly run: number;
  /** Level of the run less published level, in index points. */
  readonly change: number;
  /** Change relative to the published level, in basis points. */
  readonly change_bps: number;
}

export interface LevelSketch {
  /** Levels of some sessions of the last three years of the served store, beginning with the base value. Rules that use the previous composition, such as buffers, start with no constituents. */
  readonly level: SeriesPayload;
  /** Annualised volatility of the level over the 60 sessions up to each session, as a fraction; null before 60 returns. */
  readonly volatility: SeriesPayload;
  /** Fraction in the underlying index after each close; null for an index without a target exposure. */
  readonly exposure: SeriesPayload | null;
}

export interface LevelSketchRequest {
  /** The definition. */
  readonly document: IndexDocumentBody;
}

export interface LevelsView {
  /** Version of the index or strategy; null for runs that were stored before versions existed. */
  readonly index_version: number | null;
  /** Data store on which the run was computed; null for runs that were stored without it. */
  readonly store_id: string | null;
  /** Causes why the run is stale; null if the stored run equals a new run of the request. */
  readonly stale: StaleState | null;
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** Return variant. */
  readonly variant: 'price' | 'total' | 'net';
  /** The levels. */
  readonly levels: SeriesPayload;
  /** Market value divided by level. */
  readonly divisor: SeriesPayload;
}

/** A multiple of the daily return, reset every session. A negative multiple is inverse. */
export interface LeverageOverlay {
  readonly type: 'leverage';
  /** Multiple of the daily return. A negative multiple is inverse. */
  readonly factor: number;
  /** Series of the store with the interest rate of borrowings and cash, in percent per year; null for a rate of 0. */
  readonly financing: string | null;
  /** Spread over the rate, in basis points per year. */
  readonly spread_bps: number;
  /** Cost of changes of exposure at the close, in basis points of the traded amount. Default: 0. */
  readonly cost_bps?: number | undefined;
  /** Number of days per year. */
  readonly basis: 360 | 365;
}

/** A multiple of the daily return, reset every session. A negative multiple is inverse. */
export interface LeverageOverlayInput {
  readonly type: 'leverage';
  /** Multiple of the daily return. A negative multiple is inverse. */
  readonly factor: number;
  /** Series of the store with the interest rate of borrowings and cash, in percent per year; null for a rate of 0. */
  readonly financing?: string | null | undefined;
  /** Spread over the rate, in basis points per year. */
  readonly spread_bps?: number | undefined;
  /** Cost of changes of exposure at the close, in basis points of the traded amount. Default: 0. */
  readonly cost_bps?: number | undefined;
  /** Number of days per year. */
  readonly basis?: 360 | 365 | undefined;
}

export interface LimitBreach {
  /** Constraint whose bound is exceeded. */
  readonly row: string;
  /** First session beyond the bound. It can be before the window. */
  readonly begin: string;
  /** Last session beyond the bound. Null if the breach continues at the end of the window. */
  readonly end: string | null;
  /** Cause of the breach: price changes, a corporate action or delisting, or the trades of a rebalance. */
  readonly cause: 'price' | 'action' | 'rebalance';
  /** Date with the smallest headroom, with value and bound. */
  readonly worst: LimitMeasure;
  /** Issuers whose weights form the worst value, largest first. Only for limits of the largest issuers and of issuers above a weight. */
  readonly issuers?: readonly LimitIssuer[] | undefined;
}

/** Smallest price move of one security that causes a breach on the last date. Null beyond a bound, or if no move causes a breach. */
export type LimitDistance = {
  /** Asset identifier. */
  readonly identifier: string;
  /** Relative change of the price while all other prices are unchanged: 0.1 is +10%. */
  readonly move: number;
} | null;

export interface LimitIssuer {
  /** Issuer, or the identifier of a security without a known issuer. */
  readonly issuer: string;
  /** Absolute value of the net weight of the issuer, as a fraction. */
  readonly weight: number;
}

/** Value and bound of a constraint on a date. */
export interface LimitMeasure {
  /** The date. */
  readonly date: string;
  /** Measured value of the constraint. */
  readonly value: number;
  /** Bound of the constraint on that date. */
  readonly limit: number;
}

export interface LimitRowSummary {
  /** Constraint of the rule, or class, id and side of a requested constraint. */
  readonly row: string;
  /** Bound of the constraint: lower or upper. */
  readonly side: 'lower' | 'upper';
  /** Unit of the figure. */
  readonly unit: 'fraction' | 'count' | 'value';
  /** Number of dates on which the bound is exceeded. */
  readonly breached_sessions: number;
  /** Date with the smallest headroom, with value and bound. */
  readonly least: LimitMeasure;
  /** Last date with the constraint, with value and bound. */
  readonly latest: LimitMeasure;
  /** Issuers whose weights form the latest value, largest first. Only for limits of the largest issuers and of issuers above a weight. */
  readonly issuers?: readonly LimitIssuer[] | undefined;
}

export interface LimitState {
  /** Dates of the window. */
  readonly dates: readonly string[];
  /** Distance to the nearest bound in the unit of the constraint (a fraction for weights). Negative beyond the bound; null if no constraint applies. */
  readonly headroom: readonly (number | null)[];
  /** Security with the smallest price move that causes a breach. Null beyond a bound, or if no move of one security causes a breach. */
  readonly nearest: readonly (string | null)[];
  /** Smallest relative price move of this security that causes a breach, while all other prices are unchanged. */
  readonly move: readonly (number | null)[];
}

/** Limits that apply to clients, each in the unit at the end of its name. */
export interface Limits {
  /** Rebalance snapshots in a response: 33 years of monthly rebalances. */
  readonly MAX_REBALANCES: number;
  /** Rows of a table of weights in a response: three years of sessions. */
  readonly MAX_WEIGHT_DATES: number;
  /** Rows of a table of positions in a response. */
  readonly MAX_POSITION_ROWS: number;
  /** Sessions per year with which figures are annualised. */
  readonly PERIODS_PER_YEAR: number;
  /** Sessions per year on calendars that trade every day. */
  readonly DAYS_PER_YEAR: number;
  /** Days after its date `asof` that a schedule includes. */
  readonly SCHEDULE_LOOKAHEAD_DAYS: number;
  /** Default number of sessions after which the last price of a security is no longer used. */
  readonly MAX_STALE_SESSIONS: number;
  /** Minimum number of returns of a security in a covariance estimate. */
  readonly MIN_NAME_OBSERVATIONS: number;
  /** Minimum number of complete sessions in a covariance estimate. */
  readonly MIN_MODEL_OBSERVATIONS: number;
  /** Historical scenarios of an objective: twenty years of sessions. */
  readonly MAX_SCENARIOS: number;
  /** Simulated scenarios of an objective or a constraint. */
  readonly MAX_DRAWN_SCENARIOS: number;
  /** Securities times simulated scenarios of an objective or a constraint: 400 MB. */
  readonly MAX_SCENARIO_VALUES: number;
  /** Draws of a resampled frontier. The frontier of one draw takes as long as a frontier. */
  readonly MAX_FRONTIER_DRAWS: number;
  /** Securities of HierarchicalRiskParityWeight. The distances between the columns of 2000 securities take four seconds. */
  readonly MAX_HIERARCHY_SECURITIES: number;
  /** Number of trailing returns of the risk model of a derived index. */
  readonly DERIVED_RISK_SESSIONS: number;
  /** Plug-ins in one index document. */
  readonly MAX_PLUGINS: number;
  /** Characters of the source of a plug-in. */
  readonly MAX_PLUGIN_SOURCE: number;
  /** Inputs of a plug-in. */
  readonly MAX_PLUGIN_INPUTS: number;
  /** Steps of one call of a plug-in (iterations of loops and calls of functions): about a second. */
  readonly MAX_PLUGIN_STEPS: number;
  /** Memory of a plug-in, including its inputs. */
  readonly MAX_PLUGIN_MEMORY_BYTES: number;
  /** Body of every route except those that receive data, studies or batches. */
  readonly MAX_BODY_BYTES: number;
  /** Texts, numbers, lists and objects of a JSON body, except data, studies and batches: the identifiers of 20,000 securities with a number each. */
  readonly MAX_BODY_VALUES: number;
  /** Texts, numbers, lists and objects of a JSON body that the event loop checks itself. A thread checks larger bodies. */
  readonly MAX_DIRECT_VALUES: number;
  /** JSON body that the event loop checks itself. A thread checks larger bodies. */
  readonly MAX_DIRECT_BYTES: number;
  /** Findings of a response, errors first. `detail.more` of a refusal counts the others. Similar names are suggested for the first 20 unknown names. */
  readonly MAX_FINDINGS: number;
  /** Body of an import. */
  readonly MAX_IMPORT_BYTES: number;
  /** Body of an import with a table. It is stored on disk, and 4 GiB are 100 million rows of market data. */
  readonly MAX_IMPORT_TABLE_BYTES: number;
  /** Securities times sessions of a synthetic market: 5000 securities over 25 years. */
  readonly MAX_SYNTHETIC_BARS: number;
  /** Size of data that is copied when it is activated: 7000 securities x 25 years x 6 columns. */
  readonly MAX_COPIED_CONTENT_BYTES: number;
  /** Response of an MCP tool: 25,000 tokens of two bytes, as in long numbers and hashes. */
  readonly MAX_TOOL_ANSWER_BYTES: number;
  /** Response of the MCP tool waitForJob, which contains the figures of a result. Other tools return its series. */
  readonly MAX_TOOL_JOB_BYTES: number;
  /** Maximum wait of the MCP tool waitForJob. Clients end a call after 60 s. */
  readonly MAX_TOOL_WAIT_SECONDS: number;
  /** Concurrent MCP requests of one key, which is also the limit for event streams. */
  readonly MAX_KEY_TOOL_CALLS: number;
  /** MCP resource, which is a single message. Read larger resources over HTTP. */
  readonly MAX_RESOURCE_BYTES: number;
  /** Nesting levels of a JSON body. */
  readonly MAX_JSON_DEPTH: number;
  /** Time without a heartbeat after which a running job is queued again. */
  readonly HEARTBEAT_TIMEOUT_SECONDS: number;
  /** Wall time of one attempt of a job. */
  readonly MAX_JOB_SECONDS: number;
  /** Time for a cancelled job to release its worker. */
  readonly CANCEL_GRACE_SECONDS: number;
  /** Indices in one request for backtests, which is also the limit of a listing of jobs. */
  readonly MAX_BATCH_IDS: number;
  /** Indices and strategies in one request for reruns. Their runs are stored in one transaction. */
  readonly MAX_RERUN_IDS: number;
  /** Optimisations in one study. Their results are stored in one transaction. */
  readonly MAX_STUDY_RUNS: number;
  /** Runs in one comparison. */
  readonly MAX_COMPARE_IDS: number;
  /** Crashes of one job after which the job fails. */
  readonly MAX_ATTEMPTS: number;
  /** Jobs waiting for a worker. */
  readonly MAX_QUEUED_JOBS: number;
  /** Waiting jobs of one key. */
  readonly MAX_KEY_QUEUED_JOBS: number;
  /** Concurrent heavy jobs of one key. If half of the workers is a larger number, it applies instead. */
  readonly MAX_KEY_RUNNING_JOBS: number;
  /** Sustained requests per second of one key: a tenth of the capacity of one process. */
  readonly MAX_KEY_REQUESTS_PER_SECOND: number;
  /** Burst of requests of one key after a pause: the requests of ten seconds. */
  readonly MAX_KEY_REQUEST_BURST: number;
  /** Ended jobs that are stored. The oldest jobs are removed. The service can load this number in less than two seconds at its start. */
  readonly MAX_ENDED_JOBS: number;
  /** Jobs in one response of the list. */
  readonly MAX_LISTED_JOBS: number;
  /** Maximum `wait` for the status of a job. */
  readonly MAX_WAIT_SECONDS: number;
  /** Maximum duration of the event stream of all jobs. A client can then reconnect. */
  readonly MAX_STREAM_SECONDS: number;
  /** Concurrent streams of job events. */
  readonly MAX_EVENT_STREAMS: number;
  /** Documents and versions of one key: a hundred thousand versions of 10 KiB. */
  readonly MAX_KEY_STORED_BYTES: number;
  /** Event streams of one key. A browser opens six connections to a service, and a desk has several screens. */
  readonly MAX_KEY_EVENT_STREAMS: number;
  /** Connections of one address, except the addresses in `--trusted-proxies`: a quarter of all connections. */
  readonly MAX_ADDRESS_CONNECTIONS: number;
  /** Concurrent exports. Each export uses 4 MiB. */
  readonly MAX_OPEN_EXPORTS: number;
  /** Time until a request without an upload receives a response: its longest wait, a computation and half a minute. */
  readonly MAX_REQUEST_SECONDS: number;
  /** Time without progress after which a response is aborted, because its client does not read it. */
  readonly MAX_IDLE_WRITE_SECONDS: number;
  /** Wall time of an immediate computation (previews, what-if). */
  readonly MAX_QUERY_SECONDS: number;
  /** Wall time of an SQL query. */
  readonly MAX_SQL_SECONDS: number;
  /** Rows of the result of an SQL query. Further rows are omitted, and the response reports this. */
  readonly MAX_SQL_ROWS: number;
  /** Result of an SQL query: a million rows of thirty numbers. */
  readonly MAX_SQL_BYTES: number;
  /** Runs that an SQL query reads. The tables of this number of runs can be prepared in half a minute. */
  readonly MAX_SQL_RUNS: number;
  /** Tables of runs that are kept on disk for the next SQL query. */
  readonly MAX_SQL_INPUT_BYTES: number;
  /** Results of SQL queries that a key has not read yet. A query of the key waits until a result of the maximum size fits: two results. */
  readonly MAX_SQL_UNREAD_BYTES: number;
  /** Time after which an SQL query pauses if a key that runs no query waits for its place. */
  readonly MAX_SQL_TURN_SECONDS: number;
  /** Characters of an SQL query. */
  readonly MAX_SQL_LENGTH: number;
  /** Sessions of a simulated path: ten years. */
  readonly MAX_SIMULATION_SESSIONS: number;
  /** Paths of a simulation. 28 bytes of each path are stored until the simulation ends. */
  readonly MAX_SIMULATION_PATHS: number;
  /** Variants of a sweep: an hour of two workers at 70 ms each. */
  readonly MAX_SWEEP_VARIANTS: number;
  /** Variants of a sweep in a list of patches. More variants need a grid. */
  readonly MAX_SWEEP_PATCHES: number;
  /** Variants of a sweep times sessions. 3.6 GB of levels are stored on disk until the sweep ends. */
  readonly MAX_SWEEP_LEVELS: number;
  /** Rows in the result of a sweep, beginning with the best. All rows are available in blocks. */
  readonly MAX_SWEEP_RESULT_ROWS: number;
  /** Accounts of a batch: an hour of two workers at 70 ms each. */
  readonly MAX_BATCH_ACCOUNTS: number;
  /** Accounts of a batch as JSON: 4 million lots. */
  readonly MAX_BATCH_BYTES: number;
  /** Accounts of a batch as lines or a table, which are stored until the batch ends: 100,000 accounts with 8,000 lots. */
  readonly MAX_BATCH_UPLOAD_BYTES: number;
  /** Values of the accounts of a batch as JSON: 4 million lots of six values. */
  readonly MAX_BATCH_VALUES: number;
  /** Runs of a study as JSON: 3 kB for each of 10,000 runs. */
  readonly MAX_STUDY_BYTES: number;
  /** Values of the runs of a study as JSON: a hundred for each of 10,000 runs. */
  readonly MAX_STUDY_VALUES: number;
  /** Lots of one account. */
  readonly MAX_ACCOUNT_LOTS: number;
  /** Rows of a block of a result. */
  readonly MAX_BLOCK_ROWS: number;
  /** Splits of time in an out-of-sample test. */
  readonly MAX_SWEEP_SPLITS: number;
  /** Callbacks of one job, from all clients that request the same job. */
  readonly MAX_JOB_CALLBACKS: number;
  /** Callbacks that wait for their delivery: one for each waiting job. */
  readonly MAX_WAITING_CALLBACKS: number;
  /** Attempts to deliver one callback: five hours without a response. */
  readonly MAX_CALLBACK_ATTEMPTS: number;
  /** Time within which a receiver must respond. */
  readonly MAX_CALLBACK_SECONDS: number;
  /** Attempts to deliver a file in one attempt of a day of a schedule. */
  readonly MAX_DELIVERY_TRIES: number;
  /** Attempts of a day in which a file is delivered to a target: eight hours with the default pause. */
  readonly MAX_DELIVERY_ROUNDS: number;
  /** Time to send one file to a target. */
  readonly MAX_DELIVERY_SECONDS: number;
  /** Files of one mail: 20 MB after encoding. */
  readonly MAX_MAIL_BYTES: number;
  /** Depth of an expression tree. */
  readonly MAX_EXPRESSION_DEPTH: number;
  /** Nodes of an expression tree. */
  readonly MAX_EXPRESSION_NODES: number;
  /** Fields and constants of an expression tree: four per node. */
  readonly MAX_EXPRESSION_LEAVES: number;
  /** Characters of an expression as text: sixteen per node. */
  readonly MAX_EXPRESSION_LENGTH: number;
  /** Datapoints that an expression reads, each with its lag and window, including its definitions: four per leaf. */
  readonly MAX_EXPRESSION_READS: number;
  /** Characters of all expressions of a document as text: four of the longest. A node counts as sixteen characters. */
  readonly MAX_EXPRESSIONS_LENGTH: number;
  /** Rules, constraints, reviews and datapoints of an index times its amendments, because each version is checked. */
  readonly MAX_AMENDED_ROWS: number;
  /** Datapoints that a document defines: one per selection rule. */
  readonly MAX_DATAPOINTS: number;
  /** Securities of an estimated risk model: a matrix of 1.6 GB. */
  readonly MAX_RISK_SECURITIES: number;
  /** Dates of an imported risk model: fifty years of months. */
  readonly MAX_MODEL_DATES: number;
  /** Securities of an imported risk model: a matrix of 72 MB, and its eigenvalues. */
  readonly MAX_MODEL_SECURITIES: number;
  /** Factors of an imported risk model. */
  readonly MAX_MODEL_FACTORS: number;
  /** Covariances of an imported risk model over all of its dates: 400 MB. */
  readonly MAX_MODEL_NUMBERS: number;
  /** Blocks of a report template. */
  readonly MAX_REPORT_BLOCKS: number;
  /** Pages of a rendered report. */
  readonly MAX_REPORT_PAGES: number;
  /** Points drawn in one chart: four for every half point of an A3 page's width. */
  readonly MAX_REPORT_POINTS: number;
  /** Wall time of one rendering. */
  readonly MAX_RENDER_SECONDS: number;
}

/** The closing composition satisfies limits of concentration and of the number of constituents. */
export interface LimitsCheck {
  readonly check: 'limits';
  /** Findings block the index (block), or are only reported (warn). Default: warn. */
  readonly severity: 'block' | 'warn';
  /** Published rule of concentration. */
  readonly rule: 'UCITS_5_10_40' | 'UCITS_20_35' | 'RIC_25_5_50' | 'SEC_75_5_10' | null;
  /** Largest weight of a security. */
  readonly maximum_weight: number | null;
  /** Minimum number of constituents. */
  readonly minimum: number | null;
  /** Maximum number of constituents. */
  readonly maximum: number | null;
}

/** The closing composition satisfies limits of concentration and of the number of constituents. */
export interface LimitsCheckInput {
  readonly check: 'limits';
  /** Findings block the index (block), or are only reported (warn). Default: warn. */
  readonly severity?: 'block' | 'warn' | undefined;
  /** Published rule of concentration. */
  readonly rule?: 'UCITS_5_10_40' | 'UCITS_20_35' | 'RIC_25_5_50' | 'SEC_75_5_10' | null | undefined;
  /** Largest weight of a security. */
  readonly maximum_weight?: number | null | undefined;
  /** Minimum number of constituents. */
  readonly minimum?: number | null | undefined;
  /** Maximum number of constituents. */
  readonly maximum?: number | null | undefined;
}

export interface LimitsRequest {
  /** Constraints on holdings, as for the optimiser: bounds of securities and groups, concentration, counts, exposures and averages. */
  readonly rows: readonly ConstraintRowInput[];
}

export interface LimitsView {
  /** Version of the index or strategy; null for runs that were stored before versions existed. */
  readonly index_version: number | null;
  /** Data store on which the run was computed; null for runs that were stored without it. */
  readonly store_id: string | null;
  /** Causes why the run is stale; null if the stored run equals a new run of the request. */
  readonly stale: StaleState | null;
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** Published rule; null for constraints of the request. */
  readonly rule: 'UCITS_5_10_40' | 'UCITS_20_35' | 'RIC_25_5_50' | 'SEC_75_5_10' | null;
  /** Reference column with the issuers, as known on each date. With IDENTIFIER, each security is a separate issuer. */
  readonly by: string;
  /** Number of dates of the run in the window. */
  readonly sessions: number;
  /** Number of dates on which a constraint is beyond its bound. */
  readonly breached_sessions: number;
  /** Nearest bound on each date. */
  readonly state: LimitState;
  /** Constraints over the window; the first 500. */
  readonly rows: readonly LimitRowSummary[];
  /** Number of constraints. */
  readonly rows_total: number;
  /** The first 10,000 breaches, sorted by their first session. */
  readonly breaches: readonly LimitBreach[];
  /** Number of breaches. */
  readonly breaches_total: number;
  /** Nearest breach that a price move of one security causes; null beyond a bound, or if no move causes a breach. */
  readonly distance: LimitDistance;
  /** Findings, most severe first. */
  readonly findings: readonly Finding[];
}

/** A weighted sum of weights is between two bounds. Securities without a coefficient have the coefficient 0. */
export interface LinearConstraintParams {
  /** Coefficient of each security. */
  readonly coefficients: Readonly<Record<string, number>>;
  /** Smallest sum. */
  readonly lower?: number | null | undefined;
  /** Largest sum. */
  readonly upper?: number | null | undefined;
  /** Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated. */
  readonly soft?: number | null | undefined;
  /** Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy. */
  readonly priority?: number | undefined;
}

export interface LinearConstraintRow {
  readonly type: 'LinearConstraint';
  /** Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position. */
  readonly id?: string | undefined;
  /** Parameters of the type, by name. */
  readonly params?: LinearConstraintParams | undefined;
}

/** Keeps securities with a minimum daily traded value. A separate minimum can apply to constituents. */
export interface LiquidityFilterParams {
  /** Minimum daily traded value. Unit: money per day in index currency. */
  readonly minimum: number;
  /** Number of trailing sessions of the calendar up to the decision date. Sessions without a price bar have no value. Unit: sessions. */
  readonly window?: number | undefined;
  /** Aggregate of the daily values. */
  readonly statistic?: 'median' | 'mean' | undefined;
  /** Minimum daily traded value of a constituent. Default: same as for other securities. Unit: money per day in index currency. */
  readonly incumbent_minimum?: number | null | undefined;
  /** Treatment of a security without a value of the datapoint. In a ranking, an included security without a value is last. */
  readonly missing?: 'exclude' | 'include' | undefined;
}

export interface LiquidityFilterRule {
  /** Id of the rule, unique within the pipeline. */
  readonly id: string;
  readonly type: 'LiquidityFilter';
  /** Parameters of the type, by name. */
  readonly params?: LiquidityFilterParams | undefined;
  /** Parameters that are tried, in order, if the rule keeps too few securities. */
  readonly fallback?: readonly RuleFallback[] | undefined;
}

/** No trade from the previous solved weights exceeds a fraction of the median value traded over a number of sessions. A security without a known value traded is not traded. */
export interface LiquidityParams {
  /** Size of the portfolio, in the index currency. Unit: money. */
  readonly notional: number;
  /** Maximum fraction of the value traded. Unit: fraction. */
  readonly participation?: number | undefined;
  /** Maximum number of days for a trade. Unit: days. */
  readonly days?: number | undefined;
  /** Number of trailing sessions of the median. Unit: sessions. */
  readonly window?: number | undefined;
  /** Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated. */
  readonly soft?: number | null | undefined;
  /** Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy. */
  readonly priority?: number | undefined;
}

export interface LiquidityRow {
  readonly type: 'Liquidity';
  /** Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position. */
  readonly id?: string | undefined;
  /** Parameters of the type, by name. */
  readonly params?: LiquidityParams | undefined;
}

export interface ListedClient {
  /** Display name. */
  readonly name: string;
  /** Free text. */
  readonly description: string | null;
  /** True if files are delivered. */
  readonly enabled: boolean;
  /** Files that the client can receive. A file must be covered by one entry. An empty list covers no files. */
  readonly entitlements: readonly Entitlement[];
  /** Targets to which files are delivered. */
  readonly targets: readonly (FolderTarget | BucketTarget | SftpTarget | CallbackTarget | MailTarget)[];
  /** The client. */
  readonly client_id: string;
  /** Time of the last change, ISO-8601 UTC with offset. */
  readonly updated_at: string;
  /** Names of the targets with a stored secret. */
  readonly secrets: readonly string[];
  /** Reasons why the service does not permit targets of the stored client. Such a client is disabled until it is stored again, or until the settings permit its targets. */
  readonly problems: readonly string[];
  /** Latest session with files for the client; null if there is none. */
  readonly latest_delivery: {
    /** Schedule of the day. */
    readonly schedule_id: string;
    /** Session. */
    readonly date: string;
    /** Number of files of the day, counted separately for each target. */
    readonly files: number;
    /** Number of delivered files. */
    readonly delivered: number;
  } | null;
}

export interface ListedDeskAction {
  /** Asset identifier. */
  readonly identifier: string;
  /** Type of the action. */
  readonly type: 'DIVIDEND' | 'SPECIAL_DIVIDEND' | 'RETURN_OF_CAPITAL' | 'SPLIT' | 'STOCK_DIVIDEND' | 'BONUS_ISSUE' | 'RIGHTS_ISSUE' | 'SPIN_OFF' | 'MERGER' | 'ACQUISITION' | 'DELISTING' | 'TICKER_CHANGE';
  /** First day without the entitlement. */
  readonly ex_date: string;
  /** Value as in the store: an amount per share, a multiplier or a ratio, depending on the type. */
  readonly value: number;
  /** Null: unknown. */
  readonly pay_date: string | null;
  /** Other identifier of a spin-off, merger or ticker change. */
  readonly related: string | null;
  /** Price of a new share in a rights issue. */
  readonly subscription_price: number | null;
  /** Cash that a merger pays per share in addition to shares. */
  readonly cash: number | null;
  /** Id of the action, derived from its store, security, type, ex-date and related security. */
  readonly action_id: string;
  /** Null: unknown. */
  readonly status: 'announced' | 'paid' | 'cancelled' | null;
  /** Day of the announcement. */
  readonly announced: string | null;
  /** `new`: no decision yet. `amended`: the terms in the store have changed since they were confirmed or rejected. */
  readonly state: 'new' | 'confirmed' | 'rejected' | 'amended';
  /** Reasons to review the action, and differences from other sources. */
  readonly flags: readonly string[];
  /** Decisions of people, earliest first. */
  readonly decisions: readonly ActionDecision[];
  /** Indices that hold the security according to their newest runs, those with the largest weights first. Null if `indices` was not requested, or if the listed period contains more than 2,000 actions. */
  readonly indices: readonly AffectedIndex[] | null;
}

export interface ListedPlugin {
  /** The plug-in. */
  readonly plugin_id: string;
  /** Display name. */
  readonly name: string;
  /** Free text. */
  readonly description: string | null;
  /** Kind of the plug-in. `datapoint`: the values are numbers. `selection`: 0 or false excludes a security. `weighting`: the values are raw weights. */
  readonly kind: 'datapoint' | 'selection' | 'weighting';
  /** Columns that the plug-in reads, by name. */
  readonly inputs: Readonly<Record<string, {
    /** Numeric expression, such as `max(CLOSE, window=252)`. */
    readonly expression: string;
    /** Number of trailing sessions up to the decision date. Each session has one value of the expression. */
    readonly sessions: number;
  }>>;
  /** Parameters of the class in the order of a form. */
  readonly parameters: Readonly<Record<string, {
    /** Default value. */
    readonly default: number | string | boolean;
    /** Least. */
    readonly minimum: number | null;
    /** Greatest. */
    readonly maximum: number | null;
    /** Description in one or two sentences. */
    readonly help: string | null;
  }>>;
  /** JavaScript that defines `compute(inputs, parameters, count)`. It returns a list of `count` values, one for each security. The functions of `rows` compute on whole windows, faster than loops. */
  readonly source: string;
  /** SHA-256 of the plug-in, which is part of every run that it computes. */
  readonly sha256: string;
  /** Time of the last change, ISO-8601 UTC with offset. */
  readonly updated_at: string;
  /** Ids of the indices whose definition uses the plug-in. */
  readonly used_by: readonly string[];
}

export interface ListedSchedule {
  /** Display name. */
  readonly name: string;
  /** Free text. */
  readonly description: string | null;
  /** True if days start automatically. */
  readonly enabled: boolean;
  /** Indices of the family, in any order. Parents are computed before the indices that depend on them. */
  readonly indices: readonly string[];
  /** Exchange whose sessions are the days of the schedule. */
  readonly calendar: string;
  /** Local time at which the day of a session starts. */
  readonly at: string;
  /** Number of days after the session. With 1, the day starts on the next calendar day. */
  readonly day_offset: number;
  /** Time zone of the IANA database. Default: the time zone of the calendar. */
  readonly time_zone: string | null;
  /** Number of minutes from the start to the deadline of a day. A day that ends after its deadline is late. */
  readonly deadline_minutes: number | null;
  /** Minutes until the next attempt of a day that is waiting or blocked. */
  readonly retry_minutes: number;
  /** Number of sessions that are performed after an outage. Earlier sessions are recorded as missed. */
  readonly catch_up: number;
  /** Number of days after the end of a day for which the service keeps its files; null keeps them permanently. */
  readonly keep_files_days: number | null;
  /** Effect of a failed or blocked index: the index and the indices that depend on it are held back (continue), or the whole family is held back (stop). */
  readonly on_failure: 'continue' | 'stop';
  /** Steps of a day, in order. */
  readonly steps: readonly (RefreshStep | ChecksStep | RunStep | CompareStep | PublishStep | ExportStep | RenderStep | DeliverStep)[];
  /** First session. */
  readonly starts_on: string;
  /** The schedule. */
  readonly schedule_id: string;
  /** Time of the last change, ISO-8601 UTC with offset. */
  readonly updated_at: string;
  /** Latest days of the schedule and its next day; null without `days`. */
  readonly latest: ScheduleDays | null;
}

/** Table in the "split" format of pandas. */
export interface LiteralTable {
  /** Labels of the rows. */
  readonly index: readonly (string | number)[];
  /** Labels of the columns. */
  readonly columns: readonly string[];
  /** Rows of cells. */
  readonly data: readonly (readonly (string | number | boolean | null)[])[];
}

export interface Liveness {
  readonly status: 'live';
}

export interface LoadJobStatus {
  /** {kind}:{id}, for example backtest:LARGE-100. */
  readonly job_id: string;
  readonly kind: 'load';
  /** Order in which waiting jobs start. */
  readonly priority: 'high' | 'normal' | 'low';
  /** pending -> running -> succeeded, failed or cancelled. Terminal states never change. */
  readonly status: 'pending' | 'running' | 'succeeded' | 'failed' | 'cancelled';
  /** Completed fraction: 0 while pending, exactly 1 after success. It never decreases during an attempt. */
  readonly progress: number;
  /** Current step. */
  readonly message: string;
  /** Error of the job; only if it failed. */
  readonly error: ErrorDetail | null;
  /** Time of the submission, ISO-8601 UTC with offset. */
  readonly created_at: string;
  /** Start of the current attempt. */
  readonly started_at: string | null;
  /** Time of the end, ISO-8601 UTC with offset; null while it has not ended. */
  readonly finished_at: string | null;
  /** Time of the last heartbeat of the running attempt. */
  readonly heartbeat_at: string | null;
  /** Number of starts, which is recorded before the work starts. */
  readonly attempt: number;
  /** Latest attempts in order, at most eleven. The last one is the current attempt. */
  readonly attempts: readonly JobAttempt[];
  /** Request body as it was accepted. */
  readonly request: unknown;
  /** SHA-256 of all inputs except the market. */
  readonly input_hash: string;
  /** X-Request-Id of the submission, which log lines of the job contain. Null if the service submitted the job. */
  readonly request_id: string | null;
  /** Trace of the submission, from its header traceparent. */
  readonly trace_id: string | null;
  /** Addresses that are notified when the job ends. */
  readonly callbacks: readonly JobCallback[];
  /** Result of the job, if it succeeded. Null if the run of a backtest was deleted. */
  readonly result: DataStore | null;
}

/** No weight is negative. This constraint is present by default. Position bounds with a negative lower bound remove it for their securities. */
export interface LongOnlyParams {
  /** Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated. */
  readonly soft?: number | null | undefined;
  /** Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy. */
  readonly priority?: number | undefined;
}

export interface LongOnlyRow {
  readonly type: 'LongOnly';
  /** Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position. */
  readonly id?: string | undefined;
  /** Parameters of the type, by name. */
  readonly params?: LongOnlyParams | undefined;
}

export interface MadeFile {
  /** Name of the file. */
  readonly name: string;
  /** Size in bytes. */
  readonly bytes: number;
  /** SHA-256 of its bytes. */
  readonly sha256: string;
}

export interface MailTarget {
  readonly type: 'mail';
  /** Name of the target, unique among the targets of the client. */
  readonly name: string;
  /** Tables whose files are sent. Default: reports. */
  readonly tables: readonly string[] | null;
  /** Recipients. */
  readonly to: readonly string[];
  /** Subject with {client}, {schedule} and {date:YYYY-MM-DD}. */
  readonly subject: string;
}

export interface MailTargetInput {
  readonly type: 'mail';
  /** Name of the target, unique among the targets of the client. */
  readonly name: string;
  /** Tables whose files are sent. Default: reports. */
  readonly tables?: readonly string[] | null | undefined;
  /** Recipients. */
  readonly to: readonly string[];
  /** Subject with {client}, {schedule} and {date:YYYY-MM-DD}. */
  readonly subject?: string | undefined;
}

/** Mapping of tables in their original format to a market. Columns that are not mapped are read by name. */
export interface Mapping {
  /** `long`: one row per security and date; `wide`: one row per date and one column per security. */
  readonly layout: 'long' | 'wide';
  /** Number of rows before the header of each table, without empty rows. */
  readonly skip_rows: number;
  /** Encoding of text files without a byte order mark. Null: UTF-8. */
  readonly encoding: 'utf-8' | 'windows-1252' | 'windows-1250' | 'utf-16le' | 'utf-16be' | null;
  /** For `wide`: field of the numbers. Null: the columns also state the field, in two header rows or as ("Close", "AAPL") in Parquet. */
  readonly field: string | null;
  /** For `wide` with one table per field: field of each file, sheet or table. Other tables are not read. */
  readonly fields: Readonly<Record<string, string>>;
  /** Column of the date, the identifier and each datapoint, if it has another name. An empty text refers to the column without a name. Text files without a header: positions, such as #1, for all columns that are read. */
  readonly columns: Readonly<Record<string, string>>;
  /** Source of the identifier: a column (also null), the name of the file or sheet (file:; other files are not read), or a label above the header (heading:Security). */
  readonly identifier_from: string | null;
  /** Date format; null is YYYY-MM-DD. A pattern of YYYY, YY, MMM, MM, M, DD and D, or one of epoch_s, epoch_ms, epoch_us, epoch_ns, excel (serial dates of Excel, such as 45293). Names of months may be in English, German, French, Spanish, Italian, Dutch or Portuguese. The time of day of a date without a time zone is ignored. */
  readonly date_format: string | null;
  /** Time zone of the days if the dates are instants in UTC: a zone such as Asia/Tokyo or +09:00, or the code of a calendar, such as XTKS. Null: the zone of the reference column EXCHANGE. Dates without a zone or with an offset are the days that they show. */
  readonly time_zone: string | null;
  /** Decimal separator. If it is a comma, points, apostrophes and spaces between thousands are ignored. */
  readonly decimal: '.' | ',';
  /** Thousands separator for numbers with a decimal point: 1,234.5. If it equals the decimal separator, it applies only to VOLUME and SHARES_OUTSTANDING, as in 58,490 next to 14,82. Null: none. */
  readonly thousands: ',' | '.' | "'" | ' ' | null;
  /** Treatment of currency signs ($14.82) and of K, M, B or T after a number (59.83M): refused, or read. */
  readonly units: 'refuse' | 'read';
  /** Divisor of OPEN, HIGH, LOW, CLOSE and adjusted closes, for prices in fixed point: 1e9 for whole numbers of 1e-9. */
  readonly price_divisor: number;
  /** Treatment of a second row of one security and date: refused, accepted if all values are equal, ignored, or used instead of the first row. */
  readonly on_duplicate: 'refuse' | 'identical' | 'first' | 'last';
  /** Treatment of a price of 0: refused, or read as a missing price. */
  readonly zero_prices: 'refuse' | 'missing';
  /** Treatment of a negative price: refused, or read as its absolute value. CRSP marks the mean of bid and ask in this way. */
  readonly negative_prices: 'refuse' | 'absolute';
  /** Column of closes adjusted for dividends, and for splits if CLOSE is not adjusted for them. Cash dividends, and these splits, are derived from it. The column is then not a datapoint. */
  readonly adjusted_close: string | null;
  /** Source of cash dividends if the table has a column of dividends, such as Dividends or divCash: `adjusted_close` or that column. `column` also reads splits, if CLOSE is as traded and the table has a column of splits. With both sources, each difference is a finding. */
  readonly dividends_from: 'adjusted_close' | 'column';
  /** Columns, files and sheets that are ignored. */
  readonly ignore: readonly string[];
}

/** Known members of the mapping, and the adjustment. The inspection asks no questions about them. */
export interface MappingAnswers {
  /** `long`: one row per security and date; `wide`: one row per date and one column per security. */
  readonly layout?: 'long' | 'wide' | undefined;
  /** Number of rows before the header of each table, without empty rows. */
  readonly skip_rows?: number | undefined;
  /** Encoding of text files without a byte order mark. Null: UTF-8. */
  readonly encoding?: 'utf-8' | 'windows-1252' | 'windows-1250' | 'utf-16le' | 'utf-16be' | null | undefined;
  /** For `wide`: field of the numbers. Null: the columns also state the field, in two header rows or as ("Close", "AAPL") in Parquet. */
  readonly field?: string | null | undefined;
  /** For `wide` with one table per field: field of each file, sheet or table. Other tables are not read. */
  readonly fields?: Readonly<Record<string, string>> | undefined;
  /** Column of the date, the identifier and each datapoint, if it has another name. An empty text refers to the column without a name. Text files without a header: positions, such as #1, for all columns that are read. */
  readonly columns?: Readonly<Record<string, string>> | undefined;
  /** Source of the identifier: a column (also null), the name of the file or sheet (file:; other files are not read), or a label above the header (heading:Security). */
  readonly identifier_from?: string | null | undefined;
  /** Date format; null is YYYY-MM-DD. A pattern of YYYY, YY, MMM, MM, M, DD and D, or one of epoch_s, epoch_ms, epoch_us, epoch_ns, excel (serial dates of Excel, such as 45293). Names of months may be in English, German, French, Spanish, Italian, Dutch or Portuguese. The time of day of a date without a time zone is ignored. */
  readonly date_format?: string | null | undefined;
  /** Time zone of the days if the dates are instants in UTC: a zone such as Asia/Tokyo or +09:00, or the code of a calendar, such as XTKS. Null: the zone of the reference column EXCHANGE. Dates without a zone or with an offset are the days that they show. */
  readonly time_zone?: string | null | undefined;
  /** Decimal separator. If it is a comma, points, apostrophes and spaces between thousands are ignored. */
  readonly decimal?: '.' | ',' | undefined;
  /** Thousands separator for numbers with a decimal point: 1,234.5. If it equals the decimal separator, it applies only to VOLUME and SHARES_OUTSTANDING, as in 58,490 next to 14,82. Null: none. */
  readonly thousands?: ',' | '.' | "'" | ' ' | null | undefined;
  /** Treatment of currency signs ($14.82) and of K, M, B or T after a number (59.83M): refused, or read. */
  readonly units?: 'refuse' | 'read' | undefined;
  /** Divisor of OPEN, HIGH, LOW, CLOSE and adjusted closes, for prices in fixed point: 1e9 for whole numbers of 1e-9. */
  readonly price_divisor?: number | undefined;
  /** Treatment of a second row of one security and date: refused, accepted if all values are equal, ignored, or used instead of the first row. */
  readonly on_duplicate?: 'refuse' | 'identical' | 'first' | 'last' | undefined;
  /** Treatment of a price of 0: refused, or read as a missing price. */
  readonly zero_prices?: 'refuse' | 'missing' | undefined;
  /** Treatment of a negative price: refused, or read as its absolute value. CRSP marks the mean of bid and ask in this way. */
  readonly negative_prices?: 'refuse' | 'absolute' | undefined;
  /** Column of closes adjusted for dividends, and for splits if CLOSE is not adjusted for them. Cash dividends, and these splits, are derived from it. The column is then not a datapoint. */
  readonly adjusted_close?: string | null | undefined;
  /** Source of cash dividends if the table has a column of dividends, such as Dividends or divCash: `adjusted_close` or that column. `column` also reads splits, if CLOSE is as traded and the table has a column of splits. With both sources, each difference is a finding. */
  readonly dividends_from?: 'adjusted_close' | 'column' | undefined;
  /** Columns, files and sheets that are ignored. */
  readonly ignore?: readonly string[] | undefined;
  /** Price basis of CLOSE. */
  readonly adjustment?: 'none' | 'splits' | 'total' | undefined;
}

/** Members of a mapping that change. All other members stay unchanged. A member is replaced as a whole. */
export interface MappingChange {
  /** `long`: one row per security and date; `wide`: one row per date and one column per security. */
  readonly layout?: 'long' | 'wide' | undefined;
  /** Number of rows before the header of each table, without empty rows. */
  readonly skip_rows?: number | undefined;
  /** Encoding of text files without a byte order mark. Null: UTF-8. */
  readonly encoding?: 'utf-8' | 'windows-1252' | 'windows-1250' | 'utf-16le' | 'utf-16be' | null | undefined;
  /** For `wide`: field of the numbers. Null: the columns also state the field, in two header rows or as ("Close", "AAPL") in Parquet. */
  readonly field?: string | null | undefined;
  /** For `wide` with one table per field: field of each file, sheet or table. Other tables are not read. */
  readonly fields?: Readonly<Record<string, string>> | undefined;
  /** Column of the date, the identifier and each datapoint, if it has another name. An empty text refers to the column without a name. Text files without a header: positions, such as #1, for all columns that are read. */
  readonly columns?: Readonly<Record<string, string>> | undefined;
  /** Source of the identifier: a column (also null), the name of the file or sheet (file:; other files are not read), or a label above the header (heading:Security). */
  readonly identifier_from?: string | null | undefined;
  /** Date format; null is YYYY-MM-DD. A pattern of YYYY, YY, MMM, MM, M, DD and D, or one of epoch_s, epoch_ms, epoch_us, epoch_ns, excel (serial dates of Excel, such as 45293). Names of months may be in English, German, French, Spanish, Italian, Dutch or Portuguese. The time of day of a date without a time zone is ignored. */
  readonly date_format?: string | null | undefined;
  /** Time zone of the days if the dates are instants in UTC: a zone such as Asia/Tokyo or +09:00, or the code of a calendar, such as XTKS. Null: the zone of the reference column EXCHANGE. Dates without a zone or with an offset are the days that they show. */
  readonly time_zone?: string | null | undefined;
  /** Decimal separator. If it is a comma, points, apostrophes and spaces between thousands are ignored. */
  readonly decimal?: '.' | ',' | undefined;
  /** Thousands separator for numbers with a decimal point: 1,234.5. If it equals the decimal separator, it applies only to VOLUME and SHARES_OUTSTANDING, as in 58,490 next to 14,82. Null: none. */
  readonly thousands?: ',' | '.' | "'" | ' ' | null | undefined;
  /** Treatment of currency signs ($14.82) and of K, M, B or T after a number (59.83M): refused, or read. */
  readonly units?: 'refuse' | 'read' | undefined;
  /** Divisor of OPEN, HIGH, LOW, CLOSE and adjusted closes, for prices in fixed point: 1e9 for whole numbers of 1e-9. */
  readonly price_divisor?: number | undefined;
  /** Treatment of a second row of one security and date: refused, accepted if all values are equal, ignored, or used instead of the first row. */
  readonly on_duplicate?: 'refuse' | 'identical' | 'first' | 'last' | undefined;
  /** Treatment of a price of 0: refused, or read as a missing price. */
  readonly zero_prices?: 'refuse' | 'missing' | undefined;
  /** Treatment of a negative price: refused, or read as its absolute value. CRSP marks the mean of bid and ask in this way. */
  readonly negative_prices?: 'refuse' | 'absolute' | undefined;
  /** Column of closes adjusted for dividends, and for splits if CLOSE is not adjusted for them. Cash dividends, and these splits, are derived from it. The column is then not a datapoint. */
  readonly adjusted_close?: string | null | undefined;
  /** Source of cash dividends if the table has a column of dividends, such as Dividends or divCash: `adjusted_close` or that column. `column` also reads splits, if CLOSE is as traded and the table has a column of splits. With both sources, each difference is a finding. */
  readonly dividends_from?: 'adjusted_close' | 'column' | undefined;
  /** Columns, files and sheets that are ignored. */
  readonly ignore?: readonly string[] | undefined;
}

/** Mapping of tables in their original format to a market. Columns that are not mapped are read by name. */
export interface MappingInput {
  /** `long`: one row per security and date; `wide`: one row per date and one column per security. */
  readonly layout?: 'long' | 'wide' | undefined;
  /** Number of rows before the header of each table, without empty rows. */
  readonly skip_rows?: number | undefined;
  /** Encoding of text files without a byte order mark. Null: UTF-8. */
  readonly encoding?: 'utf-8' | 'windows-1252' | 'windows-1250' | 'utf-16le' | 'utf-16be' | null | undefined;
  /** For `wide`: field of the numbers. Null: the columns also state the field, in two header rows or as ("Close", "AAPL") in Parquet. */
  readonly field?: string | null | undefined;
  /** For `wide` with one table per field: field of each file, sheet or table. Other tables are not read. */
  readonly fields?: Readonly<Record<string, string>> | undefined;
  /** Column of the date, the identifier and each datapoint, if it has another name. An empty text refers to the column without a name. Text files without a header: positions, such as #1, for all columns that are read. */
  readonly columns?: Readonly<Record<string, string>> | undefined;
  /** Source of the identifier: a column (also null), the name of the file or sheet (file:; other files are not read), or a label above the header (heading:Security). */
  readonly identifier_from?: string | null | undefined;
  /** Date format; null is YYYY-MM-DD. A pattern of YYYY, YY, MMM, MM, M, DD and D, or one of epoch_s, epoch_ms, epoch_us, epoch_ns, excel (serial dates of Excel, such as 45293). Names of months may be in English, German, French, Spanish, Italian, Dutch or Portuguese. The time of day of a date without a time zone is ignored. */
  readonly date_format?: string | null | undefined;
  /** Time zone of the days if the dates are instants in UTC: a zone such as Asia/Tokyo or +09:00, or the code of a calendar, such as XTKS. Null: the zone of the reference column EXCHANGE. Dates without a zone or with an offset are the days that they show. */
  readonly time_zone?: string | null | undefined;
  /** Decimal separator. If it is a comma, points, apostrophes and spaces between thousands are ignored. */
  readonly decimal?: '.' | ',' | undefined;
  /** Thousands separator for numbers with a decimal point: 1,234.5. If it equals the decimal separator, it applies only to VOLUME and SHARES_OUTSTANDING, as in 58,490 next to 14,82. Null: none. */
  readonly thousands?: ',' | '.' | "'" | ' ' | null | undefined;
  /** Treatment of currency signs ($14.82) and of K, M, B or T after a number (59.83M): refused, or read. */
  readonly units?: 'refuse' | 'read' | undefined;
  /** Divisor of OPEN, HIGH, LOW, CLOSE and adjusted closes, for prices in fixed point: 1e9 for whole numbers of 1e-9. */
  readonly price_divisor?: number | undefined;
  /** Treatment of a second row of one security and date: refused, accepted if all values are equal, ignored, or used instead of the first row. */
  readonly on_duplicate?: 'refuse' | 'identical' | 'first' | 'last' | undefined;
  /** Treatment of a price of 0: refused, or read as a missing price. */
  readonly zero_prices?: 'refuse' | 'missing' | undefined;
  /** Treatment of a negative price: refused, or read as its absolute value. CRSP marks the mean of bid and ask in this way. */
  readonly negative_prices?: 'refuse' | 'absolute' | undefined;
  /** Column of closes adjusted for dividends, and for splits if CLOSE is not adjusted for them. Cash dividends, and these splits, are derived from it. The column is then not a datapoint. */
  readonly adjusted_close?: string | null | undefined;
  /** Source of cash dividends if the table has a column of dividends, such as Dividends or divCash: `adjusted_close` or that column. `column` also reads splits, if CLOSE is as traded and the table has a column of splits. With both sources, each difference is a finding. */
  readonly dividends_from?: 'adjusted_close' | 'column' | undefined;
  /** Columns, files and sheets that are ignored. */
  readonly ignore?: readonly string[] | undefined;
}

export interface MappingQuestion {
  /** Field of the mapping, or the adjustment, that the answer sets. */
  readonly field: 'adjustment' | 'layout' | 'skip_rows' | 'encoding' | 'field' | 'fields' | 'columns' | 'identifier_from' | 'date_format' | 'time_zone' | 'decimal' | 'thousands' | 'units' | 'price_divisor' | 'on_duplicate' | 'zero_prices' | 'negative_prices' | 'adjusted_close' | 'dividends_from' | 'ignore';
  /** Question that the data does not answer. */
  readonly question: string;
  /** Value that is used without an answer. */
  readonly taken: string | null;
  /** Other possible values. */
  readonly others: readonly string[];
  /** True if the data cannot be read without an answer. */
  readonly required: boolean;
  /** For on_duplicate: securities with different rows on one date; at most 1000. */
  readonly conflicts?: readonly ({
    /** Asset identifier. */
    readonly identifier: string;
    /** Number of rows that differ from the first row of their date. */
    readonly rows: number;
    /** Date of the first differing row. */
    readonly date: string;
    /** Column of the first differing value. */
    readonly column: string;
    /** Value of the first row. */
    readonly first: number | null;
    /** Value of the later row. */
    readonly other: number | null;
  })[] | undefined;
}

/** Keeps securities with a market capitalisation between two bounds. A separate minimum can apply to constituents. */
export interface MarketCapFilterParams {
  /** Minimum market capitalisation; null: no minimum. Unit: money in index currency. */
  readonly minimum?: number | null | undefined;
  /** Maximum market capitalisation; null: no maximum. Unit: money in index currency. */
  readonly maximum?: number | null | undefined;
  /** True uses only the shares in free float. */
  readonly free_float?: boolean | undefined;
  /** Minimum market capitalisation of a constituent. Default: same as for other securities. Unit: money in index currency. */
  readonly incumbent_minimum?: number | null | undefined;
  /** Treatment of a security without a value of the datapoint. In a ranking, an included security without a value is last. */
  readonly missing?: 'exclude' | 'include' | undefined;
}

export interface MarketCapFilterRule {
  /** Id of the rule, unique within the pipeline. */
  readonly id: string;
  readonly type: 'MarketCapFilter';
  /** Parameters of the type, by name. */
  readonly params?: MarketCapFilterParams | undefined;
  /** Parameters that are tried, in order, if the rule keeps too few securities. */
  readonly fallback?: readonly RuleFallback[] | undefined;
}

/** Weights in proportion to market capitalisation. */
export interface MarketCapWeightParams {
  /** True uses only the shares in free float. */
  readonly free_float?: boolean | undefined;
}

export interface MarketCapWeightWeighting {
  readonly type: 'MarketCapWeight';
  /** Parameters of the type, by name. */
  readonly params?: MarketCapWeightParams | undefined;
  /** Maximum weight of a constituent: a number, or an expression such as min(0.09, 3 * weight_in("PARENT")), which is evaluated for each constituent. Default: no maximum. Unit: fraction. */
  readonly cap?: number | string | DatapointInput | ExpressionNodeInput | null | undefined;
  /** Minimum weight of a security. Default: no minimum. Unit: fraction. */
  readonly floor?: number | null | undefined;
  /** Maximum weights of groups. */
  readonly group_caps?: readonly GroupCapInput[] | undefined;
  /** Reference column, such as ISSUER. `cap` and `ladder_caps` then limit the weight of each group of this column instead of each constituent. A constituent without a value is a separate group. */
  readonly cap_by?: string | undefined;
  /** Caps that apply if a limit is exceeded: first caps of single weights, then a cap of the total of large weights. */
  readonly ladder_caps?: LadderCaps | undefined;
  /** Datapoint that multiplies the raw weights. Its changes are phased in over several reviews. */
  readonly phase_in?: PhaseInInput | undefined;
}

/** Minimum variance of the correlation matrix, with weights divided by volatilities and rescaled. This is the maximum diversification ratio. */
export interface MaxDecorrelationObjective {
  readonly type: 'max_decorrelation';
}

/** Maximum diversification ratio, which is the weighted average of the volatilities divided by the volatility of the portfolio. */
export interface MaxDiversificationObjective {
  readonly type: 'max_diversification';
}

/** Maximum expected return within the constraints. To limit the risk, add a limit on the tracking error or on the volatility. */
export interface MaxReturnObjective {
  readonly type: 'max_return';
}

/** Maximum expected return in excess of the risk-free rate per unit of volatility. Cash earns the risk-free rate. */
export interface MaxSharpeObjective {
  /** Annual risk-free rate that is subtracted from the return. Unit: fraction per year. */
  readonly risk_free_rate?: number | undefined;
  readonly type: 'max_sharpe';
}

/** Maximum expected return, less half the risk aversion times the variance, less the costs of the trades. */
export interface MaxUtilityObjective {
  /** Half of this number is the price of one unit of variance. */
  readonly risk_aversion?: number | undefined;
  readonly type: 'max_utility';
}

/** One JSON-RPC 2.0 message of the Model Context Protocol. */
export interface McpMessage {
  readonly jsonrpc: '2.0';
}

/** Risk model of an optimisation. */
export interface MeasuringRisk {
  /** Stored risk model; null for an estimate of the run. */
  readonly model_id: string | null;
  /** Estimator of the covariance; `imported` for an imported model. */
  readonly estimator: 'shrinkage' | 'nonlinear' | 'gerber' | 'denoised' | 'newey_west' | 'statistical' | 'industries' | 'styles' | 'imported';
  /** Parameters of the estimator, as requested or by default. */
  readonly settings: Readonly<Record<string, string | number | null>>;
  /** Date of the first return. */
  readonly start: string;
  /** Date of the last return. */
  readonly end: string;
  /** Number of returns, which is the number of sessions on which every security has a return. */
  readonly sessions: number;
}

export interface MemberSpec {
  /** Name of the member. */
  readonly name: string;
  /** Human-readable name. */
  readonly label: string;
  /** Type of the value. */
  readonly type: 'number' | 'integer' | 'boolean' | 'string' | 'json';
  /** True if the parameter is required. */
  readonly required: boolean;
  /** Default value. */
  readonly default?: unknown | undefined;
  /** Position in a form. */
  readonly order: number;
  /** Accepted values; null: any value of the type. */
  readonly choices: readonly string[] | null;
  /** Description in one or two sentences. */
  readonly help: string | null;
  /** Schema of the value. */
  readonly ref: string | null;
  /** Format of a text or a list; null if the type determines it. `date`: a day, YYYY-MM-DD; `prose`: text of several lines; `texts`: a list of texts; `integers`: a list of whole numbers; `numbers`: numbers by name; `object`: an object with the members in `fields`; `rows`: a list of objects with the members in `fields`; `calendar`: a calendar of /indices/calendars; `universe`: a universe of the market, or an index; `watchlist`: a stored watchlist; `store`: a data store; `risk_model`: a stored risk model; `series`: a series of the market, of /data/series; `expression`: a datapoint by its name, or an expression of datapoints as text or as nodes; `condition`: a condition on datapoints as text or as nodes. */
  readonly format: 'date' | 'prose' | 'texts' | 'integers' | 'numbers' | 'object' | 'rows' | 'calendar' | 'universe' | 'watchlist' | 'store' | 'risk_model' | 'series' | 'expression' | 'condition' | null;
  /** Conditions on other parameters under which this parameter is used: accepted values by parameter name. One matching entry is sufficient. Null: always used. */
  readonly when: readonly Readonly<Record<string, readonly string[]>>[] | null;
}

/** Keeps the constituents of the last decided composition of another index, or all other securities. */
export interface MembershipFilterParams {
  /** Id of a stored index. */
  readonly index_id: string;
  /** If false, the constituents of the index are excluded. */
  readonly in?: boolean | undefined;
}

export interface MembershipFilterRule {
  /** Id of the rule, unique within the pipeline. */
  readonly id: string;
  readonly type: 'MembershipFilter';
  /** Parameters of the type, by name. */
  readonly params?: MembershipFilterParams | undefined;
  /** Parameters that are tried, in order, if the rule keeps too few securities. */
  readonly fallback?: readonly RuleFallback[] | undefined;
}

export interface Methodology {
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** Display name. */
  readonly name: string;
  /** Sentences in the order of application. */
  readonly sentences: readonly ({
    /** Number of the sentence. */
    readonly number: number;
    /** Part of the methodology to which the sentence belongs. */
    readonly section: 'index' | 'universe' | 'selection' | 'weighting' | 'optimisation' | 'overlay' | 'rebalancing' | 'corporate_actions' | 'rounding' | 'amendments';
    /** The sentence. */
    readonly text: string;
  })[];
}

export interface MethodologyChange {
  /** Version of the definition. */
  readonly version: number;
  /** Time of the write. */
  readonly at: string;
  /** Name of the key. */
  readonly author: string;
  /** Note from the header X-Change-Note. */
  readonly note: string | null;
  /** Effect of the write. */
  readonly action: 'created' | 'updated' | 'restored' | 'deleted';
  /** Sentences of the methodology that no longer apply. */
  readonly removed: readonly string[];
  /** Sentences that replace them. */
  readonly added: readonly string[];
}

export interface MethodologyChanges {
  /** Versions, newest first. */
  readonly changes: readonly MethodologyChange[];
  /** Dated changes of the current definition, earliest first. */
  readonly amendments: readonly Amendment[];
}

export interface MethodologyTemplateCollection {
  /** Methodologies that the service contains. */
  readonly templates: readonly MethodologyTemplateSummary[];
}

export interface MethodologyTemplateDetail {
  /** Id: 1 to 64 letters, digits, dashes and underscores. */
  readonly id: string;
  /** Title. */
  readonly title: string;
  /** `size`: weights by market capitalisation. `factor`: selection or weights by other figures of companies. `other_weighting`: equal, price or risk weights. `optimised`: derived by an optimisation. `overlay`: computed from other indices. */
  readonly kind: 'size' | 'factor' | 'other_weighting' | 'optimised' | 'overlay';
  /** Published index with a similar methodology. */
  readonly style: string;
  /** Public document that the template follows. */
  readonly source: TemplateSource;
  /** Columns, series and universes that the template requires in addition to closes. */
  readonly needs: readonly TemplateNeed[];
  /** True if the served store contains all required data, including exchange rates, and the rules select securities on the base date; null if no store is served. */
  readonly can_run: boolean | null;
  /** Reason why the rules select no securities on any base date that was tried; null if they select some, and if data is missing. */
  readonly problem: string | null;
  /** Exchange rates that the template requires and the served store lacks, such as EURUSD. */
  readonly missing_rates: readonly string[];
  /** Number of securities that the last selection rule of the template keeps; null if it has no count. */
  readonly target_count: number | null;
  /** Ids of the documents of the template, in the order in which they must be stored. */
  readonly index_ids: readonly string[];
  /** Choices of the template where the public document is not specific, and deviations from the document. */
  readonly choices: readonly string[];
  /** Bodies in the form that PUT accepts, underlying indices first. If the served store lacks exchange rates into the currency of the template, they have the currency and the calendar of the store. */
  readonly documents: readonly Readonly<Record<string, unknown>>[];
  /** Other data that the served store lacks, such as exchange rates, or the reason why the rules have no composition on the base date. */
  readonly findings: readonly Finding[];
}

export interface MethodologyTemplateLevel {
  /** Id of the document whose level is returned, which is the last document of the template. */
  readonly index_id: string;
  /** Levels of some sessions of the last three years of the served store; null if there is a problem. */
  readonly level: SeriesPayload | null;
  /** Reason why the rules of the template select no securities of the served store. */
  readonly problem: string | null;
  /** Number of constituents of the last composition; null if there is a problem, and for an index that is computed from other indices. */
  readonly constituents: number | null;
}

export interface MethodologyTemplateSummary {
  /** Id: 1 to 64 letters, digits, dashes and underscores. */
  readonly id: string;
  /** Title. */
  readonly title: string;
  /** `size`: weights by market capitalisation. `factor`: selection or weights by other figures of companies. `other_weighting`: equal, price or risk weights. `optimised`: derived by an optimisation. `overlay`: computed from other indices. */
  readonly kind: 'size' | 'factor' | 'other_weighting' | 'optimised' | 'overlay';
  /** Published index with a similar methodology. */
  readonly style: string;
  /** Public document that the template follows. */
  readonly source: TemplateSource;
  /** Columns, series and universes that the template requires in addition to closes. */
  readonly needs: readonly TemplateNeed[];
  /** True if the served store contains all required data, including exchange rates, and the rules select securities on the base date; null if no store is served. */
  readonly can_run: boolean | null;
  /** Reason why the rules select no securities on any base date that was tried; null if they select some, and if data is missing. */
  readonly problem: string | null;
  /** Exchange rates that the template requires and the served store lacks, such as EURUSD. */
  readonly missing_rates: readonly string[];
  /** Number of securities that the last selection rule of the template keeps; null if it has no count. */
  readonly target_count: number | null;
  /** Ids of the documents of the template, in the order in which they must be stored. */
  readonly index_ids: readonly string[];
}

/** Minimum average of the worst drawdowns: the conditional drawdown at risk of historical returns, summed by session. */
export interface MinCdarObjective {
  /** Confidence: the average is taken over the worst scenarios, which are the fraction 1 - confidence. 0 averages all scenarios. Unit: fraction. */
  readonly confidence?: number | undefined;
  /** Number of sessions up to the decision. Their returns are the scenarios. Default: the sessions of the risk model. Unit: sessions. */
  readonly scenarios?: number | null | undefined;
  readonly type: 'min_cdar';
}

/** Minimum average loss of the worst sessions: the conditional value at risk (expected shortfall) of historical or simulated returns. */
export interface MinCvarObjective {
  /** Confidence: the average is taken over the worst scenarios, which are the fraction 1 - confidence. 0 averages all scenarios. Unit: fraction. */
  readonly confidence?: number | undefined;
  /** Number of sessions up to the decision. Their returns are the scenarios. Default: the sessions of the risk model. Unit: sessions. */
  readonly scenarios?: number | null | undefined;
  /** Source of the scenarios: historical returns, blocks of historical returns drawn with replacement, or draws with the covariance of the risk model, from a normal or Student's distribution. */
  readonly source?: 'historical' | 'bootstrap' | 'normal' | 'student' | undefined;
  /** Number of drawn scenarios; ignored for historical scenarios. */
  readonly draws?: number | undefined;
  /** Number of consecutive returns in a block of a bootstrap. Maximum: the number of returns. Unit: sessions. */
  readonly block?: number | undefined;
  /** Degrees of freedom of Student's distribution. Fewer degrees of freedom mean heavier tails. */
  readonly degrees_of_freedom?: number | undefined;
  /** Seed of the draws. Equal seeds give equal draws. */
  readonly seed?: number | undefined;
  readonly type: 'min_cvar';
}

/** The lowest forecast tracking error: the weights nearest to the index within the constraints. */
export interface MinTrackingErrorObjective {
  readonly type: 'min_tracking_error';
}

/** The lowest forecast volatility of the portfolio. */
export interface MinVarianceObjective {
  readonly type: 'min_variance';
}

/** The weight of a security is at least a threshold, or zero. Short positions are not affected. */
export interface MinimumHoldingParams {
  /** Minimum weight of a held security. Unit: fraction. */
  readonly threshold: number;
  /** Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated. */
  readonly soft?: number | null | undefined;
  /** Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy. */
  readonly priority?: number | undefined;
}

export interface MinimumHoldingRow {
  readonly type: 'MinimumHolding';
  /** Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position. */
  readonly id?: string | undefined;
  /** Parameters of the type, by name. */
  readonly params?: MinimumHoldingParams | undefined;
}

/** Long-only weights with minimum variance. */
export interface MinimumVarianceWeightParams {
  /** Number of trailing returns of the covariance. Unit: sessions. */
  readonly window?: number | undefined;
  /** Target towards which the sample covariance is shrunk. */
  readonly target?: 'constant_correlation' | 'scaled_identity' | undefined;
  /** Weight of the target. Default: securities / (securities + observations). Unit: fraction. */
  readonly intensity?: number | null | undefined;
  /** Maximum weight in the minimisation. If the maximum is too low for full investment, the weights are equal. Unit: fraction. */
  readonly upper?: number | undefined;
}

export interface MinimumVarianceWeightWeighting {
  readonly type: 'MinimumVarianceWeight';
  /** Parameters of the type, by name. */
  readonly params?: MinimumVarianceWeightParams | undefined;
  /** Maximum weight of a constituent: a number, or an expression such as min(0.09, 3 * weight_in("PARENT")), which is evaluated for each constituent. Default: no maximum. Unit: fraction. */
  readonly cap?: number | string | DatapointInput | ExpressionNodeInput | null | undefined;
  /** Minimum weight of a security. Default: no minimum. Unit: fraction. */
  readonly floor?: number | null | undefined;
  /** Maximum weights of groups. */
  readonly group_caps?: readonly GroupCapInput[] | undefined;
  /** Reference column, such as ISSUER. `cap` and `ladder_caps` then limit the weight of each group of this column instead of each constituent. A constituent without a value is a separate group. */
  readonly cap_by?: string | undefined;
  /** Caps that apply if a limit is exceeded: first caps of single weights, then a cap of the total of large weights. */
  readonly ladder_caps?: LadderCaps | undefined;
  /** Datapoint that multiplies the raw weights. Its changes are phased in over several reviews. */
  readonly phase_in?: PhaseInInput | undefined;
}

/** Keeps securities with a minimum total return over a window that skips the latest sessions. The return includes the growth over missing price bars. */
export interface MomentumFilterParams {
  /** Number of trailing sessions before the skipped sessions. Unit: sessions. */
  readonly window?: number | undefined;
  /** Number of latest sessions that are skipped. Unit: sessions. */
  readonly skip?: number | undefined;
  /** Minimum return over the window. Unit: fraction. */
  readonly minimum?: number | undefined;
  /** Treatment of a security without a value of the datapoint. In a ranking, an included security without a value is last. */
  readonly missing?: 'exclude' | 'include' | undefined;
}

export interface MomentumFilterRule {
  /** Id of the rule, unique within the pipeline. */
  readonly id: string;
  readonly type: 'MomentumFilter';
  /** Parameters of the type, by name. */
  readonly params?: MomentumFilterParams | undefined;
  /** Parameters that are tried, in order, if the rule keeps too few securities. */
  readonly fallback?: readonly RuleFallback[] | undefined;
}

export interface MovedDate {
  /** Effective date. */
  readonly date: string;
  /** Session on which the closure was announced; the date of the closure if there was no notice. */
  readonly announcement: string;
}

/** Large price moves of constituents have a corporate action. */
export interface MovesCheck {
  readonly check: 'moves';
  /** Findings block the index (block), or are only reported (warn). Default: block. */
  readonly severity: 'block' | 'warn';
  /** Largest price move without a corporate action, a fraction. */
  readonly limit: number;
}

/** Large price moves of constituents have a corporate action. */
export interface MovesCheckInput {
  readonly check: 'moves';
  /** Findings block the index (block), or are only reported (warn). Default: block. */
  readonly severity?: 'block' | 'warn' | undefined;
  /** Largest price move without a corporate action, a fraction. */
  readonly limit?: number | undefined;
}

/** Balance of forces that determines the solved weight of the security, or the bound that determines it. */
export interface NameSolve {
  /** Every constraint of the security, binding or not, in the order of the request, with lower bounds first. */
  readonly rows: readonly SolvedRow[];
  /** Minimum feasible weight of the security, including selection constraints; null if there is no minimum. */
  readonly lower: number | null;
  /** Maximum feasible weight of the security, including selection constraints; null if there is no maximum. */
  readonly upper: number | null;
  /** Reference weight of the objective: source_weight for the tracking error, otherwise 0. */
  readonly centre: number;
  /** Second derivative of the objective with respect to the weight. For the tracking error, twice the sum of the variance of the security and the tie-breaking term. */
  readonly stiffness: number;
  /** Derivative of the other terms of the objective. For the tracking error, twice the sum of the covariances of the security with the active weights of the other securities. */
  readonly pull: number;
  /** Sum of the forces of all constraints and of the selection of securities. */
  readonly force: number;
  /** centre - (pull + force) / stiffness, which is the weight without bounds. Null if stiffness is 0. */
  readonly free_weight: number | null;
  /** `free`: the weight equals free_weight. `lower`, `upper`, `fixed`: the weight is at a bound. `kink`: the weight is at the weight before trading, or at a soft bound. */
  readonly held_by: 'free' | 'lower' | 'upper' | 'fixed' | 'kink';
  /** Bound or kink of the weight; null if the weight is free. */
  readonly held_at: number | null;
  /** free_weight or held_at, whichever applies. */
  readonly solved_weight: number;
  /** Scaling factor after weights that are zero up to rounding were removed; 1 if there were none. */
  readonly scale: number;
}

export interface NextName {
  /** Asset identifier. */
  readonly identifier: string;
  /** Change of objective_value per unit of weight of the security. */
  readonly marginal: number;
  /** Annualised expected return of the security by the model of the run. */
  readonly expected_return: number | null;
  /** Minimum expected return at which the security would be held, with all other expected returns unchanged; null if neither the objective nor a binding ExpectedReturn constraint uses expected returns. */
  readonly entry_return: number | null;
}

/** True if the operand is false. */
export interface NotNode {
  readonly node: 'not';
  /** Condition that must be false. */
  readonly operand: ExpressionNode;
  /** Canonical text of the tree, at its root; ignored in requests. */
  readonly text?: string | undefined;
}

/** True if the operand is false. */
export interface NotNodeInput {
  readonly node: 'not';
  /** Condition that must be false. */
  readonly operand: ExpressionNodeInput;
  /** Canonical text of the tree, at its root; ignored in requests. */
  readonly text?: string | undefined;
}

/** Objective of the optimisation: its type, or an object with the type and its parameters. */
export type Objective = 'min_tracking_error' | 'min_variance' | 'max_utility' | 'max_return' | 'max_sharpe' | 'risk_parity' | 'max_diversification' | 'max_decorrelation' | 'min_cvar' | 'min_cdar' | MinTrackingErrorObjective | MinVarianceObjective | MaxUtilityObjective | MaxReturnObjective | MaxSharpeObjective | RiskParityObjective | MaxDiversificationObjective | MaxDecorrelationObjective | MinCvarObjective | MinCdarObjective;

/** Figure in which a run reports the objective and its changes. */
export interface ObjectiveMeasure {
  /** Term for the figure in the sentences of a run. */
  readonly name: string;
  /** Relation of the figure to `objective_value`. `root`: the root of a variance, a fraction per year; `return`: the value itself, a fraction per year; `loss`: the value itself, a fraction lost; `number`: the value itself, without a unit. */
  readonly form: 'root' | 'return' | 'loss' | 'number';
}

export interface ObjectiveTypeSpec {
  /** Class name. */
  readonly type: string;
  /** Human-readable name. */
  readonly label: string;
  /** Catalogue that contains the class. */
  readonly category: 'selection' | 'weighting' | 'constraint' | 'objective' | 'expected_returns';
  /** Description in one or two sentences. */
  readonly help: string | null;
  /** Parameters of the class in the order of a form. */
  readonly parameters: readonly ParameterSpec[];
  /** Unit of the figure. */
  readonly unit: 'fraction' | 'count' | 'value' | null;
  /** Kind of the object. */
  readonly kind: 'eq' | 'ineq' | null;
  /** False for classes that make a result heuristic. */
  readonly convex: boolean | null;
  /** Complete valid example. */
  readonly example: Readonly<Record<string, unknown>> | null;
  /** Measure in which a run reports the objective and its changes. */
  readonly measure: ObjectiveMeasure;
}

export interface ObjectiveTypes {
  /** Objectives of an optimisation. */
  readonly objectives: readonly ObjectiveTypeSpec[];
  /** Models of expected returns. */
  readonly expected_returns: readonly TypeSpec[];
}

/** Keeps the best share line of each issuer. A security without an issuer is a separate issuer. */
export interface OnePerIssuerParams {
  /** Column that identifies the issuer. */
  readonly issuer_field?: string | undefined;
  /** Column or derived datapoint. */
  readonly field?: string | undefined;
  /** Number of trailing sessions of the calendar up to the decision date. Sessions without a price bar have no value. Unit: sessions. */
  readonly window?: number | undefined;
  /** Treatment of a security without a value of the datapoint. In a ranking, an included security without a value is last. */
  readonly missing?: 'exclude' | 'include' | undefined;
}

export interface OnePerIssuerRule {
  /** Id of the rule, unique within the pipeline. */
  readonly id: string;
  readonly type: 'OnePerIssuer';
  /** Parameters of the type, by name. */
  readonly params?: OnePerIssuerParams | undefined;
  /** Parameters that are tried, in order, if the rule keeps too few securities. */
  readonly fallback?: readonly RuleFallback[] | undefined;
}

/** An OpenAPI 3.1 document. */
export type OpenApiDocument = Readonly<Record<string, unknown>>;

export interface OptimisationJobStatus {
  /** {kind}:{id}, for example backtest:LARGE-100. */
  readonly job_id: string;
  readonly kind: 'optimise';
  /** Order in which waiting jobs start. */
  readonly priority: 'high' | 'normal' | 'low';
  /** pending -> running -> succeeded, failed or cancelled. Terminal states never change. */
  readonly status: 'pending' | 'running' | 'succeeded' | 'failed' | 'cancelled';
  /** Completed fraction: 0 while pending, exactly 1 after success. It never decreases during an attempt. */
  readonly progress: number;
  /** Current step. */
  readonly message: string;
  /** Error of the job; only if it failed. */
  readonly error: ErrorDetail | null;
  /** Time of the submission, ISO-8601 UTC with offset. */
  readonly created_at: string;
  /** Start of the current attempt. */
  readonly started_at: string | null;
  /** Time of the end, ISO-8601 UTC with offset; null while it has not ended. */
  readonly finished_at: string | null;
  /** Time of the last heartbeat of the running attempt. */
  readonly heartbeat_at: string | null;
  /** Number of starts, which is recorded before the work starts. */
  readonly attempt: number;
  /** Latest attempts in order, at most eleven. The last one is the current attempt. */
  readonly attempts: readonly JobAttempt[];
  /** Request body as it was accepted. */
  readonly request: unknown;
  /** SHA-256 of all inputs except the market. */
  readonly input_hash: string;
  /** X-Request-Id of the submission, which log lines of the job contain. Null if the service submitted the job. */
  readonly request_id: string | null;
  /** Trace of the submission, from its header traceparent. */
  readonly trace_id: string | null;
  /** Addresses that are notified when the job ends. */
  readonly callbacks: readonly JobCallback[];
  /** Result of the job, if it succeeded. Null if the run of a backtest was deleted. */
  readonly result: OptimisationRunResult | null;
}

export interface OptimisationPreviewRequest {
  /** Index whose weights are the target. */
  readonly index_id: string;
  /** Objective: an object with a type of `/optimise/objective-types` and its parameters, or only the type. A derived index accepts only the type `min_tracking_error` without an object. */
  readonly objective?: Objective | undefined;
  /** Expected returns are required for max_utility, max_return and max_sharpe. A run also uses them for its frontier. */
  readonly expected_returns?: ExpectedReturns | null | undefined;
  /** Uncertainty sets of expected returns and covariances; the objective is optimised for the worst case. */
  readonly uncertainty?: UncertaintyInput | null | undefined;
  /** Trading costs, linear and market impact. In a result, their sum as a fraction of value. */
  readonly costs?: TradeCostsInput | null | undefined;
  /** Covariance for the objective, the constraints and the results: the id of a stored model, or an estimator. Null: the default estimator. */
  readonly risk_model?: string | RiskEstimatorInput | null | undefined;
  /** Securities that can be held: the securities of the index (default), or every security of its universe with a price. Securities outside the index have an index weight of 0. */
  readonly candidates?: 'parent' | 'universe' | undefined;
  /** Rebalance whose weights are the target: the latest on or before this day; null for the latest rebalance. */
  readonly as_of?: string | null | undefined;
  /** First day of the window of the risk model. */
  readonly start?: string | null | undefined;
  /** Last day of the window of the risk model. It is never after the decision date of the rebalance. */
  readonly end?: string | null | undefined;
  /** Constraints. Without constraints, the portfolio is long-only and fully invested. */
  readonly constraints?: readonly ConstraintRowBody[] | undefined;
}

export interface OptimisationRunRequest {
  /** Index whose weights are the target. */
  readonly index_id: string;
  /** The constraint set. */
  readonly constraint_set_id: string;
  /** Objective: an object with a type of `/optimise/objective-types` and its parameters, or only the type. A derived index accepts only the type `min_tracking_error` without an object. */
  readonly objective?: Objective | undefined;
  /** Expected returns are required for max_utility, max_return and max_sharpe. A run also uses them for its frontier. */
  readonly expected_returns?: ExpectedReturns | null | undefined;
  /** Uncertainty sets of expected returns and covariances; the objective is optimised for the worst case. */
  readonly uncertainty?: UncertaintyInput | null | undefined;
  /** Trading costs, linear and market impact. In a result, their sum as a fraction of value. */
  readonly costs?: TradeCostsInput | null | undefined;
  /** Covariance for the objective, the constraints and the results: the id of a stored model, or an estimator. Null: the default estimator. */
  readonly risk_model?: string | RiskEstimatorInput | null | undefined;
  /** Securities that can be held: the securities of the index (default), or every security of its universe with a price. Securities outside the index have an index weight of 0. */
  readonly candidates?: 'parent' | 'universe' | undefined;
  /** Rebalance whose weights are the target: the latest on or before this day; null for the latest rebalance. */
  readonly as_of?: string | null | undefined;
  /** First day of the window of the risk model. */
  readonly start?: string | null | undefined;
  /** Last day of the window of the risk model. It is never after the decision date of the rebalance. */
  readonly end?: string | null | undefined;
  /** Annual risk-free rate for the tangency portfolio of the frontier. */
  readonly risk_free_rate?: number | undefined;
  /** Frontier that is averaged over draws; null for only the frontier of the estimates. */
  readonly resampling?: Resampling | null | undefined;
  /** Effort to prove a selection of securities: `quick` within seconds, `thorough` within about a minute of one processor. `gap` of the result states the remaining uncertainty. */
  readonly proof?: 'quick' | 'thorough' | undefined;
}

export interface OptimisationRunResult {
  /** The optimisation run. */
  readonly run_id: string;
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** The constraint set. */
  readonly constraint_set_id: string;
  /** First date of the prices of the constituents. */
  readonly start: string;
  /** Last date of the prices of the constituents. */
  readonly end: string;
  /** Rebalance whose weights are the target. */
  readonly rebalance_date: string;
  /** Risk model of objective, constraints and results. Absent in runs of earlier versions. */
  readonly risk_model?: MeasuringRisk | undefined;
  /** True if the optimality conditions are satisfied for the original constraints. */
  readonly converged: boolean;
  /** True if a non-convex constraint required a second solution with a restricted selection. The solution is then feasible, but not proven optimal. */
  readonly heuristic: boolean;
  /** Number of securities with a weight above 0. */
  readonly holdings: number;
  /** Number of securities with a position, long or short. Absent from results of earlier versions. */
  readonly gross_holdings?: number | undefined;
  /** Number of solver iterations. */
  readonly iterations: number;
  /** Type of the objective. */
  readonly objective_type: string;
  /** Objective in its measure, including costs: variance, utility, return, Sharpe ratio, diversification ratio, weighted correlation, average loss or drawdown of the worst scenarios, or the distance from parity, ln(volatility / product of (w/b)^b) less its value at parity. */
  readonly objective_value: number;
  /** Annualised variance of the active weights for any objective, which is the square of tracking_error. The run optimises objective_value. */
  readonly objective: number;
  /** Bound of the objective over all feasible weights. If a constraint limits the number of securities and the objective is quadratic or max_return, the bound is proven over all selections of securities. Otherwise, it is the value without the non-convex constraints, less the gap of the proof for tail risk. */
  readonly bound: number | null;
  /** Distance between the value and the bound, relative to the value. */
  readonly gap: number | null;
  /** Requested effort to prove a selection of securities. Absent in runs of earlier versions. */
  readonly proof?: 'quick' | 'thorough' | undefined;
  /** Annualised expected return before costs; null without expected returns. */
  readonly expected_return: number | null;
  /** Annualised volatility by the risk model of the run. */
  readonly volatility: number;
  /** Trading costs as a fraction of value; null if no costs were requested. */
  readonly costs: number | null;
  /** Scenarios of `min_cvar` or `min_cdar`; null for other objectives, absent in runs of earlier versions. */
  readonly tail?: TailOutcome | null | undefined;
  /** Figures for `uncertainty`; otherwise null, absent in runs of earlier versions. */
  readonly worst_case?: WorstCase | null | undefined;
  /** Figures of the index weights. Absent in runs of earlier versions. */
  readonly before?: WeightFigures | undefined;
  /** Annualised standard deviation of return differences. */
  readonly tracking_error: number;
  /** One-way turnover against the index weights. */
  readonly turnover: number;
  /** Sum of the active weights; zero if the portfolio is fully invested. */
  readonly active_sum: number;
  /** Status of the solver. */
  readonly solver_message: string;
  /** Every security, beginning with the largest active position. */
  readonly weights: readonly WeightRow[];
  /** Binding constraints: id, index, type, label, side, unit and shadow_price as text. */
  readonly binding: readonly (Readonly<Record<string, string>> | null)[];
  /** Soft bounds that the weights violate. Absent in runs of earlier versions. */
  readonly exceeded?: readonly ExceededLimit[] | undefined;
  /** Every side of every constraint. If it limits several securities or groups, it has the value and the bound of the one that is nearest to its bound. Absent in runs of earlier versions. */
  readonly constraints?: readonly SolvedConstraint[] | undefined;
  /** Effect of relaxing each binding bound: fractions by one percentage point, counts by one, other bounds by one hundredth. At most 20 bounds, the most expensive first. If constraints select securities, the selection does not change. This field and the next two fields are absent in runs of earlier versions. */
  readonly sensitivities?: readonly SensitivityRow[] | undefined;
  /** Cost of each of the first 20 constraints of the request. */
  readonly constraint_costs?: readonly ConstraintCost[] | undefined;
  /** At most 10 securities that are excluded only by their lower bound of 0, beginning with the security that is closest to a positive weight. */
  readonly next_names?: readonly NextName[] | undefined;
  /** Efficient frontier within the constraints. */
  readonly frontier: FrontierPayload | null;
  /** Findings, most severe first. */
  readonly findings: readonly Finding[];
}

export interface OptimiseRequest {
  /** Id of the new index. */
  readonly id: string;
  /** Display name. */
  readonly name: string;
  /** Description of the new index, free text. It is not copied from the parent. */
  readonly description?: string | null | undefined;
  /** Objective: an object with a type of `/optimise/objective-types` and its parameters, or only the type. A derived index accepts only the type `min_tracking_error` without an object. */
  readonly objective?: Objective | undefined;
  /** Expected returns are required for max_utility, max_return and max_sharpe. A run also uses them for its frontier. */
  readonly expected_returns?: ExpectedReturns | null | undefined;
  /** Uncertainty sets of expected returns and covariances; the objective is optimised for the worst case. */
  readonly uncertainty?: UncertaintyInput | null | undefined;
  /** Trading costs, linear and market impact. In a result, their sum as a fraction of value. */
  readonly costs?: TradeCostsInput | null | undefined;
  /** Covariance for the objective, the constraints and the results: the id of a stored model, or an estimator. Null: the default estimator. */
  readonly risk_model?: string | RiskEstimatorInput | null | undefined;
  /** Securities that can be held: the securities of the index (default), or every security of its universe with a price. Securities outside the index have an index weight of 0. */
  readonly candidates?: 'parent' | 'universe' | undefined;
  /** Constraints. Without constraints, the portfolio is long-only and fully invested. */
  readonly constraints?: readonly ConstraintRowBody[] | undefined;
  /** Constraints that are relaxed step by step, in this order, at rebalances with an infeasible problem. Constraints with a priority are relaxed afterwards. */
  readonly relax?: readonly RelaxEntry[] | undefined;
}

export interface OtherAdjustment {
  /** Price basis of CLOSE: as traded, divided by later splits, or by splits and dividends. */
  readonly adjustment: 'none' | 'splits' | 'total';
  /** Meaning of this value. */
  readonly meaning: string;
}

export interface OutsideLevel {
  /** The date. */
  readonly date: string;
  /** Level on the date. */
  readonly value: number;
}

export interface OverlayPart {
  /** Overlay of the part: this overlay, or an underlying overlay. */
  readonly index_id: string;
  /** Kind of the part: cash (interest that is earned or lost on cash), costs (costs of changes of the exposure), currency (the exchange rate on cash of the underlying index), decrement (the synthetic dividend), fee (the fee), financing (interest that is paid on borrowed money, or earned on the proceeds of short positions), hedge (gains and losses of currency forwards). */
  readonly part: 'cash' | 'costs' | 'currency' | 'decrement' | 'fee' | 'financing' | 'hedge';
  /** Linked contribution to the total return. */
  readonly contribution: number;
}

export type OverlaySpec = CurrencyOverlay | CurrencyHedgedOverlay | QuantoOverlay | RiskControlOverlay | LeverageOverlay | DecrementOverlay | ExcessReturnOverlay | BlendOverlay | FeeOverlay;

export type OverlaySpecInput = CurrencyOverlay | CurrencyHedgedOverlayInput | QuantoOverlay | RiskControlOverlayInput | LeverageOverlayInput | DecrementOverlayInput | ExcessReturnOverlayInput | BlendOverlayInput | FeeOverlayInput;

export interface OverlayTypeSpec {
  /** Class name. */
  readonly type: string;
  /** Human-readable name. */
  readonly label: string;
  /** Description in one or two sentences. */
  readonly help: string;
  /** Level of session t from the previous level. g is the growth of the index. */
  readonly formula: string;
  /** Publication that contains the formula. */
  readonly reference: string;
  /** Parameters of the class in the order of a form. */
  readonly parameters: readonly ParameterSpec[];
  /** Complete valid example. */
  readonly example: Readonly<Record<string, unknown>>;
}

export interface OverlayTypes {
  /** Parameters in the order of a form. */
  readonly overlays: readonly OverlayTypeSpec[];
}

/** Price that replaces the price of the source. */
export interface OverrideFacts {
  readonly kind: 'override';
  /** The data store. */
  readonly store_id: string;
  /** Security. */
  readonly identifier: string;
  /** Session of the price. */
  readonly date: string;
  /** Price in force; null if there is none. */
  readonly before: number | null;
  /** Requested price; null withdraws the override. */
  readonly price: number | null;
  /** Relative change of the price; null if a price is missing. */
  readonly change: number | null;
  /** Reason. */
  readonly reason: string;
}

export interface OverviewView {
  /** Version of the index or strategy; null for runs that were stored before versions existed. */
  readonly index_version: number | null;
  /** Data store on which the run was computed; null for runs that were stored without it. */
  readonly store_id: string | null;
  /** Causes why the run is stale; null if the stored run equals a new run of the request. */
  readonly stale: StaleState | null;
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** Display name. */
  readonly name: string;
  /** Concentration of the weights. */
  readonly concentration: ConcentrationPayload;
  /** Long, short, gross and net exposure of the last rebalance; absent without a short position. */
  readonly exposure?: ExposurePayload | undefined;
  /** Level, 100 at the start. */
  readonly level: SeriesPayload;
  /** Figures of the run. */
  readonly metrics: BacktestMetrics;
  /** Comparison of a derived index with its parent. Absent for other indices and in runs of earlier versions. */
  readonly parent?: ParentPayload | undefined;
  /** Return variant of the levels. It is `total` on prices that include dividends, regardless of the treatment. Absent in runs of earlier versions. */
  readonly return_variant?: 'price' | 'total' | 'net' | undefined;
  /** Number of dates used. */
  readonly observations: number;
  /** Number of rebalances in the run. */
  readonly rebalances: number;
  /** Date of the latest rebalance. */
  readonly last_rebalance: string;
  /** First date of the run's levels. */
  readonly start: string;
  /** Last date of the levels of the run. */
  readonly end: string;
}

export interface PackAccount {
  /** Name of the account, unique among the accounts. AUM is the account of `aum`. */
  readonly name: string;
  /** Cash in the currency of the index. */
  readonly cash?: number | undefined;
  /** Holdings, by shares or by value. */
  readonly holdings?: readonly PackHolding[] | undefined;
}

export interface PackCost {
  /** Full spread. Half of it is paid. */
  readonly spread_bps?: number | undefined;
  /** Market impact of trading the volume of a whole day. */
  readonly impact_bps?: number | undefined;
}

export interface PackHolding {
  /** Asset identifier. */
  readonly identifier: string;
  /** Number of shares; negative for a short position. */
  readonly shares?: number | null | undefined;
  /** Value instead of shares, at the close of as_of and in the currency of the index. */
  readonly value?: number | null | undefined;
}

/** Orders of the announcement compared with the orders of as_of, for the same holdings. The differences are the effect of prices since the announcement. Null before the announcement. */
export interface PackReconciliation {
  /** Session of the announcement, with the closes at which its orders are valued. */
  readonly announced: string;
  /** Accounts, in the order of the pack. */
  readonly accounts: readonly ReconciledAccount[];
}

export interface PackTrade {
  /** Asset identifier. */
  readonly identifier: string;
  /** Bought or sold. */
  readonly side: 'buy' | 'sell';
  /** Number of traded shares. */
  readonly shares: number;
  /** Latest close in the currency of the index. */
  readonly price: number;
  /** The value. */
  readonly value: number;
  /** Fraction of the value before the trades. */
  readonly weight_before: number;
  /** Weight in the index. */
  readonly weight_target: number;
  /** Fraction of the value after trades and costs. */
  readonly weight_after: number;
  /** Mean volume; null if unknown. */
  readonly adv_shares: number | null;
  /** shares / adv_shares: 1 is a whole day. */
  readonly adv_share: number | null;
  /** shares / (participation * adv_shares). */
  readonly days_to_trade: number | null;
  /** value * (spread_bps / 2 + impact_bps * sqrt(shares / adv_shares)) / 10,000. */
  readonly cost: number;
  /** Reason. */
  readonly reason: 'add' | 'delete' | 'reweight';
}

export interface PackedAccount {
  /** Display name. */
  readonly name: string;
  /** Value of cash and holdings before the trades. All amounts are in the currency of the index. */
  readonly value: number;
  /** Cash after trades and costs. */
  readonly cash_after: number;
  /** Half the traded value divided by the value. */
  readonly turnover: number;
  /** Expected cost of the trades. */
  readonly cost: number;
  /** Half the sum of the absolute differences between achieved and target weights, which result from lots. */
  readonly drift_after: number;
  /** By identifier. */
  readonly trades: readonly PackTrade[];
}

export interface ParameterSpec {
  /** Name of the parameter. */
  readonly name: string;
  /** Human-readable name. */
  readonly label: string;
  /** Type of the value. */
  readonly type: 'number' | 'integer' | 'boolean' | 'string' | 'json';
  /** True if the parameter is required. */
  readonly required: boolean;
  /** Default value. */
  readonly default?: unknown | undefined;
  /** Position in a form. */
  readonly order: number;
  /** Accepted values; null: any value of the type. */
  readonly choices: readonly string[] | null;
  /** Description in one or two sentences. */
  readonly help: string | null;
  /** Schema of the value. */
  readonly ref: string | null;
  /** Format of a text or a list; null if the type determines it. `date`: a day, YYYY-MM-DD; `prose`: text of several lines; `texts`: a list of texts; `integers`: a list of whole numbers; `numbers`: numbers by name; `object`: an object with the members in `fields`; `rows`: a list of objects with the members in `fields`; `calendar`: a calendar of /indices/calendars; `universe`: a universe of the market, or an index; `watchlist`: a stored watchlist; `store`: a data store; `risk_model`: a stored risk model; `series`: a series of the market, of /data/series; `expression`: a datapoint by its name, or an expression of datapoints as text or as nodes; `condition`: a condition on datapoints as text or as nodes. */
  readonly format: 'date' | 'prose' | 'texts' | 'integers' | 'numbers' | 'object' | 'rows' | 'calendar' | 'universe' | 'watchlist' | 'store' | 'risk_model' | 'series' | 'expression' | 'condition' | null;
  /** Conditions on other parameters under which this parameter is used: accepted values by parameter name. One matching entry is sufficient. Null: always used. */
  readonly when: readonly Readonly<Record<string, readonly string[]>>[] | null;
  /** Members of an object, or of each entry of a list of objects; null for other values. */
  readonly fields: readonly MemberSpec[] | null;
}

export interface ParentPayload {
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** Number of dates in both the run and the parent. */
  readonly observations: number;
  /** Return of the parent over the common dates. A fraction. */
  readonly total_return: number;
  /** Total return of the run less the total return of the parent. A fraction. */
  readonly tracking_difference: number;
  /** Annualised standard deviation of the return differences to the parent. A fraction. */
  readonly tracking_error: number;
  /** Comparison of realised and forecast tracking error. Absent if no rebalance had a risk model, and in runs of earlier versions. */
  readonly forecast?: TrackingForecastPayload | undefined;
}

export interface PatchOperation {
  readonly op: 'add' | 'remove' | 'replace';
  /** Path of the field, as the client wrote it. */
  readonly path: string;
  /** The value. */
  readonly value?: unknown | undefined;
}

export interface PerformanceView {
  /** Version of the index or strategy; null for runs that were stored before versions existed. */
  readonly index_version: number | null;
  /** Data store on which the run was computed; null for runs that were stored without it. */
  readonly store_id: string | null;
  /** Causes why the run is stale; null if the stored run equals a new run of the request. */
  readonly stale: StaleState | null;
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** Series that all figures describe: the portfolio after costs, or the index that it tracks. */
  readonly of: 'portfolio' | 'index';
  /** Return variant of the measured series. */
  readonly return_variant: 'price' | 'total' | 'net';
  /** Requested value; the first date of the run if omitted. */
  readonly requested_start: string;
  /** Requested value; the last date of the run if omitted. */
  readonly requested_end: string;
  /** First date of the run in the window. */
  readonly start: string;
  /** Last date of the run in the window. */
  readonly end: string;
  /** Number of dates used. */
  readonly observations: number;
  /** Level on `end`: of the index in points, or of the portfolio, which is 100 at the start of its run. */
  readonly end_level: number;
  /** Return of the session `end`. A fraction. */
  readonly day_return: number;
  /** Measured level, 100 on the first date. */
  readonly level: SeriesPayload;
  /** Level of the tracked index in its return variant, 100 on the first date. */
  readonly index_level: SeriesPayload;
  /** Benchmark of the run; null if there is none. */
  readonly benchmark: string | null;
  /** Return variant of the benchmark; `raw` for unadjusted levels. Null if there is no benchmark, and in runs of earlier versions. */
  readonly benchmark_variant: 'price' | 'total' | 'net' | 'raw' | null;
  /** Level of the benchmark, 100 on the first common date of the window; null if there is none. */
  readonly benchmark_level: SeriesPayload | null;
  /** Level relative to its peak in the window, less 1; 0 at a high. */
  readonly drawdown: SeriesPayload;
  /** Figures of the window. */
  readonly metrics: BacktestMetrics;
  /** Distribution of the returns of the window. */
  readonly statistics: ReturnStatistics;
  /** Comparison with the benchmark on the common dates of the window; null with fewer than three. */
  readonly benchmark_statistics: BenchmarkStatistics | null;
  /** The ten deepest drawdowns of the window, beginning with the deepest. */
  readonly drawdowns: readonly DrawdownRow[];
  /** Return of each calendar year within the window. The returns compound to the total return. */
  readonly annual_returns: Readonly<Record<string, number>>;
  /** `WINDOW_CUT`: the benchmark lacks dates of the window. */
  readonly findings: readonly Finding[];
  /** Return of each month (YYYY-MM) within the window. The returns compound to the total return. */
  readonly monthly_returns: Readonly<Record<string, number>>;
}

export interface PersonalAccount {
  /** Id of the account, which its result contains. */
  readonly account_id: string;
  /** Cash, in the currency of the index. */
  readonly cash?: number | undefined;
  /** Lots held. */
  readonly lots?: readonly AccountLot[] | undefined;
  /** Securities that are sold and not bought. */
  readonly exclusions?: readonly string[] | undefined;
  /** Weights that are added to the weights of the parent, by security. */
  readonly tilts?: Readonly<Record<string, number>> | undefined;
  /** Maximum annual tracking error. */
  readonly tracking_error_limit?: number | null | undefined;
  /** Minimum trade, in money. */
  readonly minimum_trade?: number | undefined;
  /** Trades before `as_of`. Share counts are adjusted for splits up to `as_of`. */
  readonly recent?: readonly RecentTrade[] | undefined;
  /** Groups of securities that are treated as identical for wash sales. */
  readonly substitutes?: readonly (readonly string[])[] | undefined;
  /** Rates and rules of the tax. */
  readonly tax?: AccountTax | undefined;
}

export interface PhaseIn {
  /** Datapoint or expression that multiplies the raw weights, such as FREE_FLOAT. */
  readonly field: string | Datapoint | ExpressionNode;
  /** Number of reviews over which a change of the field is phased in, in equal steps. Unit: reviews. */
  readonly steps: number;
}

export interface PhaseInInput {
  /** Datapoint or expression that multiplies the raw weights, such as FREE_FLOAT. */
  readonly field: string | DatapointInput | ExpressionNodeInput;
  /** Number of reviews over which a change of the field is phased in, in equal steps. Unit: reviews. */
  readonly steps: number;
}

export interface PhaseSpec {
  /** Number of closes with equal increments. Unit: sessions. */
  readonly sessions?: number | undefined;
  /** Increment of each close, with a sum of 1. Replaces the number of closes. */
  readonly fractions?: readonly number[] | undefined;
}

export interface PipelineBody {
  /** Rules in order, each applied to the securities that the previous rule kept. Without rules, the whole universe is kept. */
  readonly selection?: readonly (ExpressionFilterRule | FieldFilterRule | CategoryFilterRule | IncludeListRule | ExcludeListRule | TopNRule | BufferedTopNRule | TopFractionRule | CumulativeCoverageRule | RangeFilterRule | MarketCapFilterRule | LiquidityFilterRule | PriceFilterRule | FreeFloatFilterRule | SeasoningFilterRule | HistoryFilterRule | VolatilityFilterRule | MomentumFilterRule | DividendFilterRule | OnePerIssuerRule | GroupLimitRule | CompositeScoreRule | MembershipFilterRule | QuotaRule | PluginFilterRule)[] | undefined;
  /** Treatment of events and gaps in prices. */
  readonly treatment?: TreatmentSpecInput | undefined;
  /** Weighting of the selected securities. */
  readonly weighting: EqualWeightWeighting | MarketCapWeightWeighting | PriceWeightWeighting | FieldWeightWeighting | FixedWeightWeighting | RankWeightWeighting | InverseVolatilityWeightWeighting | EqualRiskWeightWeighting | MinimumVarianceWeightWeighting | TiltWeightWeighting | GroupWeightWeighting | HierarchicalRiskParityWeightWeighting | PluginWeightWeighting;
}

export interface PipelineSpec {
  /** Rules in order, each applied to the securities that the previous rule kept. Without rules, the whole universe is kept. */
  readonly selection: readonly RuleSpec[];
  /** Treatment of events and gaps in prices. */
  readonly treatment: TreatmentSpec;
  /** Weighting of the selected securities. */
  readonly weighting: WeightingSpec;
}

export interface Plugin {
  /** The plug-in. */
  readonly plugin_id: string;
  /** Display name. */
  readonly name: string;
  /** Free text. */
  readonly description: string | null;
  /** Kind of the plug-in. `datapoint`: the values are numbers. `selection`: 0 or false excludes a security. `weighting`: the values are raw weights. */
  readonly kind: 'datapoint' | 'selection' | 'weighting';
  /** Columns that the plug-in reads, by name. */
  readonly inputs: Readonly<Record<string, {
    /** Numeric expression, such as `max(CLOSE, window=252)`. */
    readonly expression: string;
    /** Number of trailing sessions up to the decision date. Each session has one value of the expression. */
    readonly sessions: number;
  }>>;
  /** Parameters of the class in the order of a form. */
  readonly parameters: Readonly<Record<string, {
    /** Default value. */
    readonly default: number | string | boolean;
    /** Least. */
    readonly minimum: number | null;
    /** Greatest. */
    readonly maximum: number | null;
    /** Description in one or two sentences. */
    readonly help: string | null;
  }>>;
  /** JavaScript that defines `compute(inputs, parameters, count)`. It returns a list of `count` values, one for each security. The functions of `rows` compute on whole windows, faster than loops. */
  readonly source: string;
  /** SHA-256 of the plug-in, which is part of every run that it computes. */
  readonly sha256: string;
  /** Time of the last change, ISO-8601 UTC with offset. */
  readonly updated_at: string;
}

export interface PluginCollection {
  /** Plug-ins by id. */
  readonly plugins: readonly ListedPlugin[];
  /** Number of stored documents that are omitted because they cannot be read. */
  readonly skipped: number;
  /** Number of omitted documents by cause. */
  readonly skipped_causes: SkippedCauses;
}

/** Keeps securities that a plug-in of the document keeps. */
export interface PluginFilterParams {
  /** Name of the plug-in among the `plugins` of the document. */
  readonly plugin: string;
  /** Treatment of a security without a value of the datapoint. In a ranking, an included security without a value is last. */
  readonly missing?: 'exclude' | 'include' | undefined;
}

export interface PluginFilterRule {
  /** Id of the rule, unique within the pipeline. */
  readonly id: string;
  readonly type: 'PluginFilter';
  /** Parameters of the type, by name. */
  readonly params?: PluginFilterParams | undefined;
  /** Parameters that are tried, in order, if the rule keeps too few securities. */
  readonly fallback?: readonly RuleFallback[] | undefined;
}

/** Values of a plug-in, for an editor. */
export interface PluginPreview {
  /** True if no finding is an error. */
  readonly valid: boolean;
  /** Session of the values; null without values. */
  readonly as_of: string | null;
  /** Number of securities of the store on the session. */
  readonly securities: number;
  /** Number of securities with a value. */
  readonly valued: number;
  /** Securities with a value, beginning with the largest value. */
  readonly values: readonly {
    /** Asset identifier. */
    readonly identifier: string;
    /** Value returned by `compute`. */
    readonly value: number;
  }[];
  /** Findings, most severe first. */
  readonly findings: readonly Finding[];
}

export interface PluginPreviewRequest {
  /** Plug-in. It does not have to be stored. */
  readonly plugin: PluginUpsert;
  /** Values of parameters. Omitted parameters have their defaults. */
  readonly parameters?: Readonly<Record<string, number | string | boolean>> | undefined;
  /** Decision date. Default: the latest date of the store. */
  readonly as_of?: string | null | undefined;
  /** Maximum number of values. */
  readonly limit?: number | undefined;
}

export interface PluginUpsert {
  /** Display name. */
  readonly name: string;
  /** Free text. */
  readonly description?: string | null | undefined;
  /** Kind of the plug-in. `datapoint`: the values are numbers. `selection`: 0 or false excludes a security. `weighting`: the values are raw weights. */
  readonly kind: 'datapoint' | 'selection' | 'weighting';
  /** Columns that the plug-in reads. `compute` receives them under these names as Float64Arrays, with NaN for missing values. If there are several sessions, the values of a security are adjacent, with the latest last. */
  readonly inputs: Readonly<Record<string, string | {
    /** Numeric expression, such as `max(CLOSE, window=252)`. */
    readonly expression: string;
    /** Number of trailing sessions up to the decision date. Each session has one value of the expression. */
    readonly sessions?: number | undefined;
  }>>;
  /** Parameters with their defaults, optionally with bounds and help. */
  readonly parameters?: Readonly<Record<string, number | string | boolean | {
    /** Default value. */
    readonly default: number | string | boolean;
    /** Least. */
    readonly minimum?: number | null | undefined;
    /** Greatest. */
    readonly maximum?: number | null | undefined;
    /** Description in one or two sentences. */
    readonly help?: string | null | undefined;
  }>> | undefined;
  /** JavaScript that defines `compute(inputs, parameters, count)`. It returns a list of `count` values, one for each security. The functions of `rows` compute on whole windows, faster than loops. */
  readonly source: string;
}

/** Weights in proportion to the values of a plug-in. A security with a negative or missing value is not held. */
export interface PluginWeightParams {
  /** Name of the plug-in among the `plugins` of the document. */
  readonly plugin: string;
}

export interface PluginWeightWeighting {
  readonly type: 'PluginWeight';
  /** Parameters of the type, by name. */
  readonly params?: PluginWeightParams | undefined;
  /** Maximum weight of a constituent: a number, or an expression such as min(0.09, 3 * weight_in("PARENT")), which is evaluated for each constituent. Default: no maximum. Unit: fraction. */
  readonly cap?: number | string | DatapointInput | ExpressionNodeInput | null | undefined;
  /** Minimum weight of a security. Default: no minimum. Unit: fraction. */
  readonly floor?: number | null | undefined;
  /** Maximum weights of groups. */
  readonly group_caps?: readonly GroupCapInput[] | undefined;
  /** Reference column, such as ISSUER. `cap` and `ladder_caps` then limit the weight of each group of this column instead of each constituent. A constituent without a value is a separate group. */
  readonly cap_by?: string | undefined;
  /** Caps that apply if a limit is exceeded: first caps of single weights, then a cap of the total of large weights. */
  readonly ladder_caps?: LadderCaps | undefined;
  /** Datapoint that multiplies the raw weights. Its changes are phased in over several reviews. */
  readonly phase_in?: PhaseInInput | undefined;
}

export interface PortfolioBookPayload {
  /** Cash after each close. */
  readonly cash: SeriesPayload;
  /** Initial capital of the portfolio. */
  readonly initial_capital: number;
  /** Value after each close. The first row has the initial capital on the day before the start. */
  readonly nav: SeriesPayload;
  /** portfolio-{index_id}. */
  readonly portfolio_id: string;
  /** Holdings after each close, in long form. Only the most recent rows are returned. */
  readonly positions: TableFrame;
  /** Number of rows of the whole table. */
  readonly positions_total: number;
  /** Every trade, in long form. */
  readonly transactions: TableFrame;
  /** Number of rows of the whole table. Of more than a million rows, only the latest are returned. */
  readonly transactions_total: number;
  /** Weights held after each close, dates by security. Only the latest dates are returned. */
  readonly weights: TableFrame;
  /** Number of dates of the whole table. */
  readonly weights_dates_total: number;
}

/** Each weight is between two bounds. A negative lower bound allows short positions of the securities in its scope. */
export interface PositionBoundsParams {
  /** Smallest weight. Unit: fraction. */
  readonly lower?: number | undefined;
  /** Largest weight. Unit: fraction. */
  readonly upper?: number | undefined;
  /** Securities of the constraint. Default: all securities. */
  readonly identifiers?: readonly string[] | null | undefined;
  /** Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated. */
  readonly soft?: number | null | undefined;
  /** Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy. */
  readonly priority?: number | undefined;
}

export interface PositionBoundsRow {
  readonly type: 'PositionBounds';
  /** Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position. */
  readonly id?: string | undefined;
  /** Parameters of the type, by name. */
  readonly params?: PositionBoundsParams | undefined;
}

export interface PreviewAsset {
  /** Asset identifier. */
  readonly identifier: string;
  /** True if the security is in the index. */
  readonly included: boolean;
  /** Final weight; null if the security is not held. */
  readonly weight: number | null;
  /** Id of the first rule that excluded the security. Null for a selected security without a weight, and for a derived index. */
  readonly excluded_by: string | null;
  /** Position of the step that excluded the security. For a selected security without a weight, the number of steps. */
  readonly excluded_at: number | null;
  /** Weight before capping; null if the cap does not limit the weight. */
  readonly uncapped_weight: number | null;
  /** True if the cap limits the weight of the security. */
  readonly capped: boolean;
  /** Weight in the parent; derived indices only. */
  readonly source_weight: number | null;
  /** Solved weight, which equals `weight`; derived indices only. */
  readonly solved_weight: number | null;
  /** Solved weight less source weight; derived indices only. */
  readonly weight_delta: number | null;
}

export interface PreviewConstraint {
  /** Human-readable name. */
  readonly label: string;
  /** Kind of the object. */
  readonly kind: 'eq' | 'ineq';
  /** True if the bound is binding. */
  readonly binding: boolean;
  /** Distance to the bound in `unit`. */
  readonly slack: number;
  /** Unit of the figure. */
  readonly unit: 'fraction' | 'count' | 'value';
  /** Change of the bound if the constraint was relaxed according to its priority; null if the constraint is satisfied as defined. */
  readonly relaxed_by: number | null;
}

export interface PreviewDocumentRequest {
  /** The definition. */
  readonly document: IndexDocumentBody;
  /** Decision date. Default: the base date of the document; for a derived index, the first rebalance. */
  readonly as_of?: string | null | undefined;
  /** Version of the data: a number, or the newest version known at a time (for a date: its end, in UTC). */
  readonly as_known_on?: number | string | undefined;
}

export interface PreviewLimits {
  /** Published rule of concentration. */
  readonly rule: 'UCITS_5_10_40' | 'UCITS_20_35' | 'RIC_25_5_50' | 'SEC_75_5_10';
  /** Distance of the decided weights from the nearest bound. Negative beyond the bound; this does not trigger a rebalance. */
  readonly headroom: number;
}

export interface PreviewOverlay {
  /** Type of the overlay. */
  readonly type: string;
  /** Underlying indices. */
  readonly index_ids: readonly string[];
  /** Derivation of the exposure of a risk control; absent for other types. */
  readonly exposure?: {
    /** Exposure after the close of resolved_date. */
    readonly exposure: number;
    /** Target exposure. */
    readonly target: number;
    /** Exposure after the previous close; null on the first session. */
    readonly before: number | null;
    /** Annual volatility from which the target was computed; null before the first return. */
    readonly volatility: number | null;
    /** target: the exposure is the target; max_change: the difference from the target exceeds the largest change; within_tolerance: the target is within the tolerance of the previous exposure; no_review: the session is not a review */
    readonly reason: 'target' | 'max_change' | 'within_tolerance' | 'no_review';
  } | undefined;
}

export interface PreviewRequest {
  /** Decision date. Default: the base date of the index; for a derived index, the first rebalance. */
  readonly as_of?: string | null | undefined;
  /** Version of the data: a number, or the newest version known at a time (for a date: its end, in UTC). */
  readonly as_known_on?: number | string | undefined;
  /** Id of a run. The request then uses the definition of the run, with every document and risk model as of the run, on the served data. Default: the stored definition. */
  readonly run_id?: string | undefined;
}

export interface PreviewResponse {
  /** Version of the stored index; null for a document of the request. */
  readonly index_version: number | null;
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** Date as requested. */
  readonly as_of: string;
  /** Latest session with data on or before as_of; null before the first market date of the store. */
  readonly resolved_date: string | null;
  /** Securities: first the included securities by weight, then the excluded securities by step. */
  readonly assets: readonly PreviewAsset[];
  /** Final weights by identifier. */
  readonly weights: Readonly<Record<string, number>>;
  /** Sum of the weights. It is 1 unless the index is empty, a WeightSum constraint leaves cash, or an overlay has an exposure other than 1 to its underlying securities. */
  readonly total_weight: number;
  /** Applied cap; always null for a derived index. */
  readonly cap: number | null;
  /** Weight that was redistributed from capped securities. */
  readonly cap_redistributed: number;
  /** Steps of the selection; null for a derived index and an overlay. */
  readonly steps: readonly PreviewStep[] | null;
  /** Optimisation; null for a rule-based index and an overlay. */
  readonly solve: PreviewSolve | null;
  /** State of an overlay. Assets and weights are then its holdings after the close of resolved_date, through all underlying indices, and last its cash as `CASH/USD` (negative if money is borrowed). They sum to 1. `steps` has these holdings as its universe. */
  readonly overlay?: PreviewOverlay | undefined;
  /** Rule that triggers rebalances of the index on a breach. */
  readonly limits?: PreviewLimits | undefined;
  /** Changes of constituents between reviews (`events`) that were decided on resolved_date. Assets and weights are the result of the rules. */
  readonly replacements?: readonly Replacement[] | undefined;
  /** Warnings, for example about selected securities without a weight. */
  readonly findings: readonly Finding[];
}

export interface PreviewSolve {
  /** Parent of the derived index; it cannot be changed. */
  readonly source_index_id: string;
  /** Objective: an object with a type of `/optimise/objective-types` and its parameters, or only the type. A derived index accepts only the type `min_tracking_error` without an object. */
  readonly objective: string;
  /** Latest rebalance of the parent on or before as_of. */
  readonly rebalance_date: string;
  /** Figures of the index weights. */
  readonly before: WeightFigures;
  /** Figures of the solved weights. */
  readonly after: WeightFigures;
  /** Labels of binding constraints. */
  readonly binding: readonly string[];
  /** Every constraint, binding or not. A row with one bound per security or group has an entry for each binding one; if none is binding, for the tightest. */
  readonly constraints: readonly PreviewConstraint[];
  /** Soft bounds that the solved weights violate. */
  readonly exceeded: readonly ExceededLimit[];
}

export interface PreviewStep {
  /** Position of the step. 0 is the universe, and rules follow in order. */
  readonly position: number;
  /** Number of securities that remain after the step. */
  readonly remaining: number;
  /** Securities that this step removed; empty for the universe. */
  readonly excluded: readonly string[];
  /** Id of the rule; null for the universe. */
  readonly rule_id: string | null;
  /** Class of the rule; null for the universe. */
  readonly rule_type: string | null;
}

/** Keeps securities with a close between two bounds. */
export interface PriceFilterParams {
  /** Minimum close; null: no minimum. Unit: money in index currency. */
  readonly minimum?: number | null | undefined;
  /** Maximum close; null: no maximum. Unit: money in index currency. */
  readonly maximum?: number | null | undefined;
  /** Treatment of a security without a value of the datapoint. In a ranking, an included security without a value is last. */
  readonly missing?: 'exclude' | 'include' | undefined;
}

export interface PriceFilterRule {
  /** Id of the rule, unique within the pipeline. */
  readonly id: string;
  readonly type: 'PriceFilter';
  /** Parameters of the type, by name. */
  readonly params?: PriceFilterParams | undefined;
  /** Parameters that are tried, in order, if the rule keeps too few securities. */
  readonly fallback?: readonly RuleFallback[] | undefined;
}

export interface PriceGapPayload {
  /** Asset identifier. */
  readonly asset_id: string;
  /** Simulated session without a bar. */
  readonly date: string;
  /** Session of the carried-forward price. */
  readonly priced_from: string;
}

/** Missing prices of a security. */
export interface PriceGaps {
  /** Asset identifier. */
  readonly identifier: string;
  /** Date of the first price. */
  readonly start: string;
  /** Date of the last price. */
  readonly end: string;
  /** Number of dates without a price between the first and the last price. */
  readonly missing: number;
  /** Largest number of consecutive dates without a price. */
  readonly longest: number;
  /** First date without a price. */
  readonly first_missing: string;
  /** Last date without a price. */
  readonly last_missing: string;
  /** The latest 50 dates without a price, ascending. */
  readonly dates: readonly string[];
}

export interface PriceOverride {
  /** Security. */
  readonly identifier: string;
  /** Session of the price. */
  readonly date: string;
  /** CLOSE that replaces the CLOSE of the source. */
  readonly price: number;
  /** CLOSE of the source at the time of the override; null if there was none. */
  readonly source_price: number | null;
  /** Reason, including the source of the price. */
  readonly reason: string;
  /** Name of the key; `local` without authentication. */
  readonly author: string;
  /** Id of the key; null without authentication. */
  readonly key_id: string | null;
  /** Time of the override, ISO-8601 UTC with offset. */
  readonly at: string;
  /** Approval of the decision; null if it needed none. */
  readonly approval_id: number | null;
  /** Names of the people who approved the decision. */
  readonly approved_by: readonly string[];
}

export interface PriceOverrideRequest {
  /** Security of the store. */
  readonly identifier: string;
  /** Session of the store. */
  readonly date: string;
  /** CLOSE that replaces the CLOSE of the source; null withdraws the override. */
  readonly price: number | null;
  /** Reason, including the source of the price. */
  readonly reason: string;
}

export interface PriceOverrides {
  /** The data store. */
  readonly store_id: string;
  /** Overrides in force, by date and security. */
  readonly overrides: readonly PriceOverride[];
}

/** Holds one share of each constituent, or a number of shares from a column. Weights are in proportion to prices in index currency, as in the Dow Jones Industrial Average. */
export interface PriceWeightParams {
  /** Column with the number of shares of each constituent, such as a par-value or price-adjustment factor. Default: one share each. */
  readonly factor_field?: string | null | undefined;
  /** Effect of a split: the number of shares does not change and the divisor does, or the shares are multiplied so that the weight does not change. */
  readonly splits?: 'divisor' | 'keep_weight' | undefined;
}

export interface PriceWeightWeighting {
  readonly type: 'PriceWeight';
  /** Parameters of the type, by name. */
  readonly params?: PriceWeightParams | undefined;
  /** Maximum weight of a constituent: a number, or an expression such as min(0.09, 3 * weight_in("PARENT")), which is evaluated for each constituent. Default: no maximum. Unit: fraction. */
  readonly cap?: number | string | DatapointInput | ExpressionNodeInput | null | undefined;
  /** Minimum weight of a security. Default: no minimum. Unit: fraction. */
  readonly floor?: number | null | undefined;
  /** Maximum weights of groups. */
  readonly group_caps?: readonly GroupCapInput[] | undefined;
  /** Reference column, such as ISSUER. `cap` and `ladder_caps` then limit the weight of each group of this column instead of each constituent. A constituent without a value is a separate group. */
  readonly cap_by?: string | undefined;
  /** Caps that apply if a limit is exceeded: first caps of single weights, then a cap of the total of large weights. */
  readonly ladder_caps?: LadderCaps | undefined;
  /** Datapoint that multiplies the raw weights. Its changes are phased in over several reviews. */
  readonly phase_in?: PhaseInInput | undefined;
}

export interface PricesResponse {
  /** Asset identifier. */
  readonly identifier: string;
  /** Resolution served. */
  readonly interval: 'native' | 'weekly' | 'monthly';
  /** Market data by date; null for missing values. */
  readonly prices: TableFrame;
}

export interface PrincipalView {
  /** Id of the key, or `sub:` and the subject of the token; null without authentication. */
  readonly key_id: string | null;
  /** Permissions; admin includes all others. */
  readonly scopes: readonly ('read' | 'write' | 'run' | 'data' | 'publish' | 'audit' | 'admin')[];
}

export interface Procedure {
  /** Display name. */
  readonly name: string;
  /** Subject of the procedure. */
  readonly kind: 'cessation' | 'errors' | 'judgement' | 'inputs' | 'review' | 'complaints' | 'conflicts' | 'oversight' | 'controls';
  /** Markdown. */
  readonly text: string;
  /** Indices to which the procedure applies. Default: all indices. */
  readonly indices: readonly string[] | null;
  /** Date of the next review of the procedure. */
  readonly review_by: string | null;
  /** The procedure. */
  readonly procedure_id: string;
  /** Newest version of the procedure. */
  readonly version: number;
  /** Time of the last change, ISO-8601 UTC with offset. */
  readonly updated_at: string;
}

export interface ProcedureCollection {
  /** Procedures by id. */
  readonly procedures: readonly Procedure[];
  /** Number of stored documents that are omitted because they cannot be read. */
  readonly skipped: number;
  /** Number of omitted documents by cause. */
  readonly skipped_causes: SkippedCauses;
}

export interface ProcedureDocument {
  /** Display name. */
  readonly name: string;
  /** Subject of the procedure. */
  readonly kind: 'cessation' | 'errors' | 'judgement' | 'inputs' | 'review' | 'complaints' | 'conflicts' | 'oversight' | 'controls';
  /** Markdown. */
  readonly text: string;
  /** Indices to which the procedure applies. Default: all indices. */
  readonly indices?: readonly string[] | null | undefined;
  /** Date of the next review of the procedure. */
  readonly review_by?: string | null | undefined;
}

/** Response to a request without a key, if the service has keys. */
export interface PublicHealth {
  readonly status: 'live';
  /** The running engine version. */
  readonly version: string;
}

export interface PublicKey {
  /** The first 16 hexadecimal digits of the SHA-256 of the public key. */
  readonly key_id: string;
  /** The 32 bytes of an Ed25519 public key, in base64. */
  readonly public_key: string;
  /** Time of its creation, ISO-8601 UTC with offset. */
  readonly valid_from: string;
  /** Time from which the key is no longer used; null for the current key. */
  readonly valid_until: string | null;
}

export interface PublicKeys {
  /** Oldest first. */
  readonly keys: readonly PublicKey[];
  /** Number of stored documents that are omitted because they cannot be read. */
  readonly skipped: number;
  /** Number of omitted documents by cause. */
  readonly skipped_causes: SkippedCauses;
}

export interface Publication {
  /** Number of closes that were published for the first time. */
  readonly published: number;
  /** Number of closes that were published again. */
  readonly restated: number;
  /** Last published date; null if there is none. */
  readonly through: string | null;
  /** Hash of the last entry; 64 zeros for an empty log. */
  readonly head: string;
  /** Id of the run that contains these closes. */
  readonly run_id: string;
  /** Difference from published closes, with the decision; null if there is none. */
  readonly error: DecidedError;
  /** Differences between the run and a new run of the same request; null if the run is current. */
  readonly stale: StaleState | null;
}

export interface PublicationEntry {
  /** Number, from 1 without gaps. */
  readonly seq: number;
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** Session of the close. */
  readonly date: string;
  /** A restatement replaces earlier entries of its date. */
  readonly kind: 'close' | 'restatement';
  /** Price return level; null if prices include dividends. */
  readonly price: number | null;
  /** Total return level. */
  readonly total: number | null;
  /** Net total return level. */
  readonly net: number | null;
  /** Market value divided by level. */
  readonly divisor: number | null;
  /** SHA-256 of the canonical JSON (RFC 8785) of the index weights at the close, by identifier. */
  readonly composition_hash: string;
  /** Content hash of the data of the run. */
  readonly data_hash: string | null;
  /** Version of the definition; null if unknown. */
  readonly index_version: number | null;
  /** Version of the recorded changes of the calendar that the run used; absent if there were none. */
  readonly calendar_version?: number | undefined;
  /** Version of the engine of the run. */
  readonly engine: string | null;
  /** Reason for a restatement, for a publication without price bars of some constituents, or for a difference from earlier closes that an error policy left unchanged. Null for any other close. */
  readonly reason: string | null;
  /** Time of the publication, ISO-8601 UTC with offset. */
  readonly at: string;
  /** Name of the key; local without authentication. */
  readonly author: string;
  /** Hash of the previous entry; 64 zeros in the first. */
  readonly previous: string;
  /** SHA-256 of the canonical JSON of the entry without hash and signature. */
  readonly hash: string;
  /** Key of the signature. */
  readonly key_id: string;
  /** Ed25519 signature of the 32 bytes of hash, in base64. */
  readonly signature: string;
}

/** Closes that are published for the first time. */
export interface PublishFacts {
  readonly kind: 'publish';
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** Run that contains the closes. */
  readonly run_id: string;
  /** Number of closes that were published for the first time. */
  readonly published: number;
  /** Number of closes that were published again. */
  readonly restated: number;
  /** First date. */
  readonly first: string;
  /** Last date. */
  readonly last: string;
  /** Levels of the last date. */
  readonly close: ApprovedLevels;
  /** Published close before the first new close; null if there is none. */
  readonly previous: ApprovedClose | null;
}

export interface PublishRequest {
  /** Id of a stored run. Default: the newest run. */
  readonly run_id?: string | undefined;
  /** Last date to publish. Default: the last date of the run. The request is refused if the run lacks a session on or before this date. */
  readonly through?: string | undefined;
  /** True publishes closes with differences again. */
  readonly restate?: boolean | undefined;
  /** Reason, which the log records. A restatement requires a reason. */
  readonly reason?: string | undefined;
  /** Treatment of published closes that differ from the run. Default: the publication is refused with RESTATEMENT. */
  readonly error_policy?: ErrorPolicy | undefined;
  /** True publishes closes for which constituents have no bar. The entries record this. */
  readonly allow_partial?: boolean | undefined;
}

/** Publishes the closes of every index up to and including the session. Parents are published before the indices that depend on them. A close is published only once, even if the step is repeated. */
export interface PublishStep {
  readonly type: 'publish';
  /** Treatment of published closes that differ from the run. Default: the index is held back. */
  readonly errors: ErrorPolicy | null;
  /** True publishes closes for which constituents have no bar. The entries record this. */
  readonly allow_partial: boolean;
}

/** Publishes the closes of every index up to and including the session. Parents are published before the indices that depend on them. A close is published only once, even if the step is repeated. */
export interface PublishStepInput {
  readonly type: 'publish';
  /** Treatment of published closes that differ from the run. Default: the index is held back. */
  readonly errors?: ErrorPolicy | null | undefined;
  /** True publishes closes for which constituents have no bar. The entries record this. */
  readonly allow_partial?: boolean | undefined;
}

/** The levels of the run equal the published levels. */
export interface PublishedCheck {
  readonly check: 'published';
  /** Findings block the index (block), or are only reported (warn). Default: block. */
  readonly severity: 'block' | 'warn';
  /** Largest difference, in basis points of the level. */
  readonly tolerance_bps: number;
}

/** The levels of the run equal the published levels. */
export interface PublishedCheckInput {
  readonly check: 'published';
  /** Findings block the index (block), or are only reported (warn). Default: block. */
  readonly severity?: 'block' | 'warn' | undefined;
  /** Largest difference, in basis points of the level. */
  readonly tolerance_bps?: number | undefined;
}

/** Entry of the register of errors. */
export interface PublishedError {
  /** Number, from 1 without gaps, counted by index. */
  readonly seq: number;
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** Time of the decision, ISO-8601 UTC with offset. */
  readonly at: string;
  /** Name of the key; for a schedule, its author. */
  readonly author: string;
  /** `restated`: closes were published again. `announced` and `left`: published closes did not change. */
  readonly decision: 'restated' | 'announced' | 'left';
  /** Policy of the decision; null for a decision of a person. */
  readonly policy: ErrorPolicy | null;
  /** First date with a difference. */
  readonly first: string;
  /** Last date that differs. */
  readonly last: string;
  /** Number of dates with a difference. */
  readonly dates: number;
  /** First date with a material difference. Null if there is none, and for a decision without a policy. */
  readonly material_from: string | null;
  /** Closes that were published again. */
  readonly restated: number;
  /** Largest change of a level; null if only divisor or composition differ. */
  readonly largest: LevelChange | null;
  /** Run with the difference. */
  readonly run_id: string;
  /** Reason for the decision. */
  readonly reason: string;
  /** Notice for clients. */
  readonly notice: string;
  /** SHA-256 of the differences. Equal differences are registered once. */
  readonly digest: string;
}

export interface PublishedErrors {
  /** Newest first. */
  readonly errors: readonly PublishedError[];
}

export interface PublishedLog {
  /** Entries, in the order of the log. */
  readonly entries: readonly PublicationEntry[];
}

/** The return of the index in its own currency, paid in another currency, without exchange rates. */
export interface QuantoOverlay {
  readonly type: 'quanto';
  /** Currency in which the return is paid, which is the currency of the overlay. */
  readonly to: string;
}

/** Keeps a number of securities of each group, which are the best by a field. Groups without a quota are excluded. */
export interface QuotaParams {
  /** Column whose values are the groups. */
  readonly field: string;
  /** Number of securities by group. Unit: securities. */
  readonly quotas: Readonly<Record<string, number>>;
  /** Datapoint of the ranking within a group. */
  readonly rank_field?: string | DatapointInput | ExpressionNodeInput | undefined;
  /** True ranks the smallest values first. */
  readonly ascending?: boolean | undefined;
  /** Treatment of a security without a value of the datapoint. In a ranking, an included security without a value is last. */
  readonly missing?: 'exclude' | 'include' | undefined;
}

export interface QuotaRule {
  /** Id of the rule, unique within the pipeline. */
  readonly id: string;
  readonly type: 'Quota';
  /** Parameters of the type, by name. */
  readonly params?: QuotaParams | undefined;
  /** Parameters that are tried, in order, if the rule keeps too few securities. */
  readonly fallback?: readonly RuleFallback[] | undefined;
}

/** Keeps securities with a datapoint between two bounds. */
export interface RangeFilterParams {
  /** Name of a column or derived datapoint, an expression as text or as nodes, or an object with name, window, lag, aggregate and transform. */
  readonly field: string | DatapointInput | ExpressionNodeInput;
  /** Lower bound; null: no lower bound. */
  readonly minimum?: number | null | undefined;
  /** Upper bound; null: no upper bound. */
  readonly maximum?: number | null | undefined;
  /** True if a value equal to a bound passes. */
  readonly inclusive?: boolean | undefined;
  /** Treatment of a security without a value of the datapoint. In a ranking, an included security without a value is last. */
  readonly missing?: 'exclude' | 'include' | undefined;
}

export interface RangeFilterRule {
  /** Id of the rule, unique within the pipeline. */
  readonly id: string;
  readonly type: 'RangeFilter';
  /** Parameters of the type, by name. */
  readonly params?: RangeFilterParams | undefined;
  /** Parameters that are tried, in order, if the rule keeps too few securities. */
  readonly fallback?: readonly RuleFallback[] | undefined;
}

/** Weights by the rank of a datapoint. */
export interface RankWeightParams {
  /** Name of a column or derived datapoint, an expression as text or as nodes, or an object with name, window, lag, aggregate and transform. */
  readonly field: string | DatapointInput | ExpressionNodeInput;
  /** True ranks the smallest values first. */
  readonly ascending?: boolean | undefined;
  /** `linear`: count + 1 - rank; `reciprocal`: 1 / rank. */
  readonly scheme?: 'linear' | 'reciprocal' | undefined;
}

export interface RankWeightWeighting {
  readonly type: 'RankWeight';
  /** Parameters of the type, by name. */
  readonly params?: RankWeightParams | undefined;
  /** Maximum weight of a constituent: a number, or an expression such as min(0.09, 3 * weight_in("PARENT")), which is evaluated for each constituent. Default: no maximum. Unit: fraction. */
  readonly cap?: number | string | DatapointInput | ExpressionNodeInput | null | undefined;
  /** Minimum weight of a security. Default: no minimum. Unit: fraction. */
  readonly floor?: number | null | undefined;
  /** Maximum weights of groups. */
  readonly group_caps?: readonly GroupCapInput[] | undefined;
  /** Reference column, such as ISSUER. `cap` and `ladder_caps` then limit the weight of each group of this column instead of each constituent. A constituent without a value is a separate group. */
  readonly cap_by?: string | undefined;
  /** Caps that apply if a limit is exceeded: first caps of single weights, then a cap of the total of large weights. */
  readonly ladder_caps?: LadderCaps | undefined;
  /** Datapoint that multiplies the raw weights. Its changes are phased in over several reviews. */
  readonly phase_in?: PhaseInInput | undefined;
}

/** All checks pass and the service is not stopping. */
export interface Readiness {
  readonly status: 'ready';
  /** Checks with their results. */
  readonly checks: readonly HealthCheck[];
}

export interface RebalanceList {
  /** Version of the index or strategy; null for runs that were stored before versions existed. */
  readonly index_version: number | null;
  /** Data store on which the run was computed; null for runs that were stored without it. */
  readonly store_id: string | null;
  /** Causes why the run is stale; null if the stored run equals a new run of the request. */
  readonly stale: StaleState | null;
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** Rebalances by date, beginning with the composition in force at the start. */
  readonly rebalances: readonly RebalanceRow[];
  /** Warnings of the run about rebalances that were not executed (`REBALANCE_HELD`), and about securities that left without a corporate action (`SILENT_DELISTING`). Empty if the run does not store its warnings. */
  readonly findings: readonly Finding[];
}

export interface RebalancePack {
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** Version of the definition; null if it has no versions. */
  readonly index_version: number | null;
  /** Requested date; null if omitted. */
  readonly requested_as_of: string | null;
  /** Session with the closes at which orders are valued: the latest session with data on or before the requested date. A finding reports a session that differs from the requested date. */
  readonly as_of: string;
  /** Effective date of the next rebalance or change of constituents; null if the calendar contains none. */
  readonly effective: string | null;
  /** Session of the decision. */
  readonly decision: string;
  /** Target weights: the announced weights for `effective`; before the announcement, the result of the rules on as_of, or the latest solution of a derived index. */
  readonly basis: 'announced' | 'indicative' | 'in_force';
  /** Changes of constituents that the orders execute in addition to the decision of a review: changes between reviews, and replacements of securities that left while the review was pending. */
  readonly replacements: readonly Replacement[];
  /** Accounts in the order of the request; the account of `aum` is the last. */
  readonly accounts: readonly PackedAccount[];
  /** Number of days that the orders require, over the traded securities. */
  readonly days_to_trade: DaysToTrade;
  /** Fraction of the initial holdings of all accounts that is sold within a number of days; empty if the accounts hold nothing. */
  readonly liquidation: readonly {
    /** Trading days. */
    readonly days: number;
    /** Fraction of the holdings that is sold within this number of days. */
    readonly share: number;
  }[];
  /** Largest AUM that can be invested within this number of days; null if a security has no volume. */
  readonly capacity: readonly ({
    /** Trading days. */
    readonly days: number;
    /** Maximum assets under management; null if a security has no volume. */
    readonly aum: number | null;
  })[];
  /** Changes since the announcement; null on or before its date. */
  readonly reconciliation: PackReconciliation | null;
  /** Findings, most severe first. */
  readonly findings: readonly Finding[];
}

export interface RebalancePackRequest {
  /** Session with the closes at which orders are valued. Default: the latest date of the data. */
  readonly as_of?: string | null | undefined;
  /** Accounts that the orders align with the index. */
  readonly accounts?: readonly PackAccount[] | undefined;
  /** Adds the account AUM with this amount of cash, which buys the whole index. */
  readonly aum?: number | null | undefined;
  /** Lot size in shares, by identifier. The resulting holdings are multiples of the lot. Default: 1. */
  readonly lot_sizes?: Readonly<Record<string, number>> | undefined;
  /** Maximum fraction of the daily volume that is traded. */
  readonly participation?: number | undefined;
  /** Number of sessions with a price bar in the mean volume. */
  readonly adv_sessions?: number | undefined;
  /** Trading costs. */
  readonly cost?: PackCost | undefined;
}

export interface RebalancePricingPayload {
  /** Rebalance date of the schedule. */
  readonly date: string;
  /** Session of the prices. */
  readonly priced_from: string;
}

export interface RebalanceRow {
  /** Date on which the weights took effect. */
  readonly date: string;
  /** Trigger of the rebalance: the schedule, a breach with `treatment.on_breach`, or a change of constituents by `events`. */
  readonly cause: 'schedule' | 'breach' | 'replacement' | 'fast_entry' | 'fast_exit';
  /** Review that decided the rebalance, or the first of several reviews on the date. Null for a change between reviews, and if the run does not store the reviews. */
  readonly review: string | null;
  /** Reviews that decided the rebalance, in order. Null where `review` is null. */
  readonly reviews: readonly string[] | null;
  /** Completed fraction of the rebalance after this close; null if the run does not store the fraction. */
  readonly phase: number | null;
  /** Dates of the schedule that this rebalance executes: its own date, and dates of closed days that moved to its session. */
  readonly schedule_dates: readonly string[];
  /** Securities traded at the price of an earlier session. */
  readonly stale_fills: readonly StaleFillPayload[];
  /** Session whose data decided the weights; null if the run does not store the session. */
  readonly decision_date: string | null;
  /** Session of the trades; null for a composition that was in force before the run. */
  readonly traded_on: string | null;
  /** Securities with a weight above 0. */
  readonly constituents: number;
  /** Securities with a position, long or short. */
  readonly gross_constituents: number;
  /** Number of constituents that were not held before; at the first rebalance, all constituents. */
  readonly added: number;
  /** The added securities with the largest weights, at most 5. */
  readonly largest_added: readonly string[];
  /** Number of securities that were held before and not afterwards. */
  readonly removed: number;
  /** The removed securities with the largest weights before, at most 5. */
  readonly largest_removed: readonly string[];
  /** Maximum weight of a security; null if there is none. */
  readonly cap: number | null;
  /** Number of securities held at the cap. */
  readonly capped: number;
  /** Weight that was redistributed from capped securities when the weights were decided. */
  readonly redistributed: number;
  /** One-way turnover: half the sum of the absolute weight changes on that session. Null for the first purchase and before the run. */
  readonly turnover: number | null;
  /** Costs of that session as a fraction of the value at the previous close. The export `rebalances` contains them as an amount of money. Null before the second date. */
  readonly cost_fraction: number | null;
}

export interface RebalanceSnapshot {
  /** Date on which the weights took effect. */
  readonly date: string;
  /** Dates of the schedule that this rebalance executes: its own date, and dates of closed days that moved to its session. */
  readonly schedule_dates: readonly string[];
  /** Applied weights, with a sum of 1. The cash that an overlay holds or owes is `CASH/USD` in that currency. */
  readonly weights: Readonly<Record<string, number>>;
  /** Weights before capping. They equal the weights if no cap was applied. */
  readonly uncapped_weights: Readonly<Record<string, number>>;
  /** Effective maximum weight of a security, if there is one. */
  readonly cap: number | null;
  /** Securities held at the cap. */
  readonly capped: readonly string[];
  /** Weight that was redistributed from capped securities: the sum of the positive differences uncapped_weights - weights. */
  readonly redistributed: number;
  /** Securities traded at the price of an earlier session, which is at most max_stale_sessions old. */
  readonly stale_fills: readonly StaleFillPayload[];
  /** Publication date of the composition, if earlier than date. */
  readonly announced: string | null;
  /** Weights that were decided from data up to reference_date. Null if they equal the weights, and in runs of earlier versions that do not store them. */
  readonly target_weights: Readonly<Record<string, number>> | null;
  /** Last date of the data that selection and weighting read; null in runs of earlier versions that do not store it. */
  readonly reference_date: string | null;
  /** Date of the closes with which target weights were converted to index shares; null in runs of earlier versions that do not store it. */
  readonly pricing_date: string | null;
  /** Review that decided the composition, or the first of several reviews on the date. `rebalance` is the review of the document itself. Null in runs of earlier versions that do not store it. */
  readonly review: string | null;
  /** Every review that ran on the date, in order; null in runs of earlier versions that do not store them. */
  readonly reviews: readonly string[] | null;
  /** Completed fraction of the rebalance after this close; 1 for a rebalance that takes effect at once. Null in runs of earlier versions that do not store it. */
  readonly phase: number | null;
  /** Index shares at the effective close: weight times market value, divided by price, with divisor 1 on the base date. Null for strategies and overlays, and in older runs. */
  readonly index_shares: Readonly<Record<string, number>> | null;
  /** Index shares divided by float-adjusted shares; null for a security without a share count. */
  readonly weighting_factor: Readonly<Record<string, number | null>> | null;
  /** Trigger of the rebalance: the schedule, a breach with `treatment.on_breach`, or a change of constituents by `events`. Null in runs of earlier versions that do not store it. */
  readonly cause: 'schedule' | 'breach' | 'replacement' | 'fast_entry' | 'fast_exit' | null;
}

export interface RebalanceSpec {
  /** Frequency of rebalances. */
  readonly frequency: 'none' | 'daily' | 'weekly' | 'monthly' | 'quarterly' | 'semi_annual' | 'annual' | 'custom';
  /** Day within each period. */
  readonly anchor: 'first_session' | 'last_session' | 'third_friday' | 'nth_weekday' | 'day_of_month';
  /** Months from 1 to 12. Default: the months of the frequency. */
  readonly months: readonly number[] | null;
  /** Weekday: 0 is Monday, 4 is Friday. */
  readonly weekday: number | null;
  /** Number of the weekday in the month, from 1. 5 is the last one. */
  readonly nth: number | null;
  /** Day of the month. In a shorter month, the last day is used. */
  readonly day: number | null;
  /** Treatment of a date that is not a session: it moves to the next or the previous session. `unadjusted` keeps the day and uses prices of the previous session. */
  readonly roll: 'following' | 'preceding' | 'unadjusted';
  /** Number of sessions from the decision to the effective date. Unit: sessions. */
  readonly effective_lag: number;
  /** Target weights are converted to index shares at the closes of the pricing date, and drift until the effective date (shares), or apply exactly at the effective close (weights). */
  readonly weights_as: 'shares' | 'weights';
  /** Date up to which selection and weighting read data. Default: the notice in sessions before the effective date. */
  readonly reference?: DateRule | undefined;
  /** Announcement date, on or after the reference date and before the effective date. Default: the reference date. */
  readonly announcement?: DateRule | undefined;
  /** Pricing date, at whose closes target weights are converted to index shares. Default: the reference date. */
  readonly pricing_date?: DateRule | undefined;
  /** Closes over which the rebalance is spread, beginning with the effective date. Default: one close. */
  readonly phase?: PhaseSpec | undefined;
  /** Effective dates, YYYY-MM-DD. */
  readonly dates: readonly string[];
}

export interface RebalanceSpecInput {
  /** Frequency of rebalances. */
  readonly frequency?: 'none' | 'daily' | 'weekly' | 'monthly' | 'quarterly' | 'semi_annual' | 'annual' | 'custom' | undefined;
  /** Day within each period. */
  readonly anchor?: 'first_session' | 'last_session' | 'third_friday' | 'nth_weekday' | 'day_of_month' | undefined;
  /** Months from 1 to 12. Default: the months of the frequency. */
  readonly months?: readonly number[] | null | undefined;
  /** Weekday: 0 is Monday, 4 is Friday. */
  readonly weekday?: number | null | undefined;
  /** Number of the weekday in the month, from 1. 5 is the last one. */
  readonly nth?: number | null | undefined;
  /** Day of the month. In a shorter month, the last day is used. */
  readonly day?: number | null | undefined;
  /** Treatment of a date that is not a session: it moves to the next or the previous session. `unadjusted` keeps the day and uses prices of the previous session. */
  readonly roll?: 'following' | 'preceding' | 'unadjusted' | undefined;
  /** Number of sessions from the decision to the effective date. Unit: sessions. */
  readonly effective_lag?: number | undefined;
  /** Target weights are converted to index shares at the closes of the pricing date, and drift until the effective date (shares), or apply exactly at the effective close (weights). */
  readonly weights_as?: 'shares' | 'weights' | undefined;
  /** Date up to which selection and weighting read data. Default: the notice in sessions before the effective date. */
  readonly reference?: DateRule | undefined;
  /** Announcement date, on or after the reference date and before the effective date. Default: the reference date. */
  readonly announcement?: DateRule | undefined;
  /** Pricing date, at whose closes target weights are converted to index shares. Default: the reference date. */
  readonly pricing_date?: DateRule | undefined;
  /** Closes over which the rebalance is spread, beginning with the effective date. Default: one close. */
  readonly phase?: PhaseSpec | undefined;
  /** Effective dates, YYYY-MM-DD. */
  readonly dates?: readonly string[] | undefined;
}

export interface RebalanceView {
  /** Version of the index or strategy; null for runs that were stored before versions existed. */
  readonly index_version: number | null;
  /** Data store on which the run was computed; null for runs that were stored without it. */
  readonly store_id: string | null;
  /** Causes why the run is stale; null if the stored run equals a new run of the request. */
  readonly stale: StaleState | null;
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** The requested date. */
  readonly requested_date: string;
  /** Date on which the weights took effect. */
  readonly date: string;
  /** Trigger of the rebalance: the schedule, a breach with `treatment.on_breach`, or a change of constituents by `events`. */
  readonly cause: 'schedule' | 'breach' | 'replacement' | 'fast_entry' | 'fast_exit';
  /** Review that decided the rebalance, or the first of several reviews on the date. Null for a change between reviews, and if the run does not store the reviews. */
  readonly review: string | null;
  /** Reviews that decided the rebalance, in order. Null where `review` is null. */
  readonly reviews: readonly string[] | null;
  /** Completed fraction of the rebalance after this close; null if the run does not store the fraction. */
  readonly phase: number | null;
  /** Dates of the schedule that this rebalance executes: its own date, and dates of closed days that moved to its session. */
  readonly schedule_dates: readonly string[];
  /** Securities traded at the price of an earlier session. */
  readonly stale_fills: readonly StaleFillPayload[];
  /** Session whose data decided the weights; null if the run does not store the session. */
  readonly decision_date: string | null;
  /** Session of the trades; null for a composition that was in force before the run. */
  readonly traded_on: string | null;
  /** Securities with a weight above 0. */
  readonly constituents: number;
  /** Securities with a position, long or short. */
  readonly gross_constituents: number;
  /** Number of constituents that were not held before; at the first rebalance, all constituents. */
  readonly added: number;
  /** The added securities with the largest weights, at most 5. */
  readonly largest_added: readonly string[];
  /** Number of securities that were held before and not afterwards. */
  readonly removed: number;
  /** The removed securities with the largest weights before, at most 5. */
  readonly largest_removed: readonly string[];
  /** Maximum weight of a security; null if there is none. */
  readonly cap: number | null;
  /** Number of securities held at the cap. */
  readonly capped: number;
  /** Weight that was redistributed from capped securities when the weights were decided. */
  readonly redistributed: number;
  /** One-way turnover: half the sum of the absolute weight changes on that session. Null for the first purchase and before the run. */
  readonly turnover: number | null;
  /** Costs of that session as a fraction of the value at the previous close. The export `rebalances` contains them as an amount of money. Null before the second date. */
  readonly cost_fraction: number | null;
  /** Date of the previous rebalance; null for the first. */
  readonly previous: string | null;
  /** Date of the next rebalance; null for the last. */
  readonly next: string | null;
  /** Securities held before or after, sorted by weight and identifier. */
  readonly names: readonly RebalancedName[];
  /** Orders of the session that could not be filled. */
  readonly unfilled: readonly UnfilledOrderPayload[];
}

export interface RebalancedName {
  /** Asset identifier. */
  readonly identifier: string;
  /** Weight just before the trades; null before the run. */
  readonly before: number | null;
  /** Weight after the close. */
  readonly after: number;
  /** Weight after the close minus weight before the trades. */
  readonly change: number | null;
  /** Decided weight. */
  readonly target: number;
  /** Weight before capping. */
  readonly uncapped: number;
  /** True if the cap limits the weight of the security. */
  readonly capped: boolean;
  /** Traded value, negative for a sale. 0 without a trade; null if the run does not store it. */
  readonly trade: number | null;
  /** Price of the trade; null if there was no trade. */
  readonly price: number | null;
}

export interface ReceivedShares {
  /** Asset identifier. */
  readonly identifier: string;
  /** Number of shares received for each share held before. */
  readonly ratio: number;
  /** Weight of the received shares, in addition to the previous holding of that security. */
  readonly weight: number;
}

export interface RecentTrade {
  /** Asset identifier. */
  readonly identifier: string;
  /** The date. */
  readonly date: string;
  /** Shares bought; negative for a sale. */
  readonly shares: number;
  /** Price per share. */
  readonly price: number;
  /** Cost basis per share of a sale. A sale without it is treated as a sale at a loss. */
  readonly cost?: number | undefined;
}

export interface ReconciledAccount {
  /** Display name. */
  readonly name: string;
  /** Value of cash and holdings at the closes of the announcement. */
  readonly value_announced: number;
  /** All securities with an order on either date, by identifier. */
  readonly orders: readonly ReconciledOrder[];
}

export interface ReconciledOrder {
  /** Asset identifier. */
  readonly identifier: string;
  /** Shares of the orders of the announcement; negative for a sale. */
  readonly shares_announced: number;
  /** Shares of the orders of as_of. */
  readonly shares: number;
  /** Shares of the orders of as_of less shares of the orders of the announcement. */
  readonly change: number;
  /** Close of the announcement, on the share basis of as_of. */
  readonly price_announced: number;
  /** Close of as_of. */
  readonly price: number;
}

export interface ReconciliationCheck {
  /** Display name. */
  readonly name: string;
  /** Description of the identity. */
  readonly meaning: string;
  /** Recomputed value; null for a comparison of bytes. */
  readonly left: number | null;
  /** Value that `left` must equal; null for a comparison of bytes. */
  readonly right: number | null;
  /** left less right; 0 or 1 for a comparison of bytes, and 1 if a value is not a number. */
  readonly residual: number;
  /** Maximum difference, relative to the larger value, or to 1 if both values are smaller. */
  readonly tolerance: number;
  /** True if both sides are equal within the tolerance. */
  readonly holds: boolean;
}

export interface ReconciliationView {
  /** Version of the index or strategy; null for runs that were stored before versions existed. */
  readonly index_version: number | null;
  /** Data store on which the run was computed; null for runs that were stored without it. */
  readonly store_id: string | null;
  /** Causes why the run is stale; null if the stored run equals a new run of the request. */
  readonly stale: StaleState | null;
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** True if every check succeeds. */
  readonly reconciles: boolean;
  /** Checks with their results. */
  readonly checks: readonly ReconciliationCheck[];
  /** Data that is not checked because runs of earlier versions do not store it, one sentence each. */
  readonly not_compared: readonly string[];
}

export interface RecordedCalendarClosures {
  /** Code of the calendar. */
  readonly calendar: string;
  /** Name of the exchange. */
  readonly name: string;
  /** Newest version of the changes; 0 if none were ever recorded. */
  readonly version: number;
  /** Time of the last write. */
  readonly updated_at: string | null;
  /** Recorded changes by date. */
  readonly changes: readonly SessionChange[];
  /** True if nothing was stored. */
  readonly dry_run: boolean;
  /** Effect of the changes. */
  readonly effect: ClosureEffect;
}

export interface ReferenceEntry {
  /** Asset identifier. */
  readonly identifier: string;
  /** False if the identifier is unknown. Its fields are then empty, and the request does not fail. */
  readonly found: boolean;
  /** Requested columns; null for a missing value. */
  readonly fields: Readonly<Record<string, string | number | boolean | null>>;
}

export interface ReferenceResponse {
  /** Asset identifier. */
  readonly identifier: string;
  /** Every reference column of the store, as known on as_of. */
  readonly fields: Readonly<Record<string, string | number | boolean | null>>;
  /** Universes that contain the security. */
  readonly universes: readonly UniverseMembership[];
}

export interface RefreshJobStatus {
  /** {kind}:{id}, for example backtest:LARGE-100. */
  readonly job_id: string;
  readonly kind: 'refresh';
  /** Order in which waiting jobs start. */
  readonly priority: 'high' | 'normal' | 'low';
  /** pending -> running -> succeeded, failed or cancelled. Terminal states never change. */
  readonly status: 'pending' | 'running' | 'succeeded' | 'failed' | 'cancelled';
  /** Completed fraction: 0 while pending, exactly 1 after success. It never decreases during an attempt. */
  readonly progress: number;
  /** Current step. */
  readonly message: string;
  /** Error of the job; only if it failed. */
  readonly error: ErrorDetail | null;
  /** Time of the submission, ISO-8601 UTC with offset. */
  readonly created_at: string;
  /** Start of the current attempt. */
  readonly started_at: string | null;
  /** Time of the end, ISO-8601 UTC with offset; null while it has not ended. */
  readonly finished_at: string | null;
  /** Time of the last heartbeat of the running attempt. */
  readonly heartbeat_at: string | null;
  /** Number of starts, which is recorded before the work starts. */
  readonly attempt: number;
  /** Latest attempts in order, at most eleven. The last one is the current attempt. */
  readonly attempts: readonly JobAttempt[];
  /** Request body as it was accepted. */
  readonly request: unknown;
  /** SHA-256 of all inputs except the market. */
  readonly input_hash: string;
  /** X-Request-Id of the submission, which log lines of the job contain. Null if the service submitted the job. */
  readonly request_id: string | null;
  /** Trace of the submission, from its header traceparent. */
  readonly trace_id: string | null;
  /** Addresses that are notified when the job ends. */
  readonly callbacks: readonly JobCallback[];
  /** Result of the job, if it succeeded. Null if the run of a backtest was deleted. */
  readonly result: RefreshResult | null;
}

export interface RefreshRequest {
  /** Last date to load. Default: the latest date of the source. Later dates in the store do not change, even with `full`. */
  readonly until?: string | null | undefined;
  /** True reads every value from the source and reports restatements. By default, later bars and actions are added. If the source has changed the history of a security, its stored bars and actions do not change, unless the change is a split. */
  readonly full?: boolean | undefined;
  /** True reports the changes of a refresh without storing or serving them. */
  readonly dry_run?: boolean | undefined;
  /** True also reads a folder or a database that is not active; the store stays inactive. By default such a refresh is refused with STORE_NOT_SERVED, because an activation reads the source again. Without effect on other stores. */
  readonly load?: boolean | undefined;
  /** Finding codes that reject the whole refresh. The job then fails with REFRESH_REJECTED before anything is stored or served. Findings of the refresh, and new data warnings of the store, are considered. */
  readonly fail_on?: FindingCode | readonly FindingCode[] | undefined;
}

export interface RefreshResult {
  /** The data store. */
  readonly store_id: string;
  /** Number of new rows of all datasets. */
  readonly rows_added: number;
  /** Number of rows of all datasets that the source has changed or removed. */
  readonly rows_changed: number;
  /** Accepted changes, by dataset. */
  readonly datasets: Readonly<Record<string, {
    /** Number of new rows, and of rows with a later state, such as a membership that has ended or an announced action that is paid. */
    readonly added: number;
    /** Number of rows in the store whose values have changed. */
    readonly changed: number;
    /** Number of rows in the store that the source no longer contains. */
    readonly removed: number;
  }>>;
  /** Number of new dates. */
  readonly dates_added: number;
  /** Number of new securities. */
  readonly identifiers_added: number;
  /** First date. */
  readonly start: string;
  /** Last date. */
  readonly end: string;
  /** Changed and removed values, beginning with market data, by date, identifier and column; at most 1000. The column of an action or a membership includes its type or universe: DIVIDEND.value. */
  readonly restatements: readonly ({
    /** Name of the table. */
    readonly dataset: 'market' | 'reference' | 'corporate_actions' | 'universes' | 'series';
    /** Asset identifier. */
    readonly identifier: string;
    /** The date. */
    readonly date: string | null;
    /** The column. */
    readonly column: string;
    /** Value before the change. */
    readonly before: string | number | boolean | null;
    /** Value after the change. */
    readonly after: string | number | boolean | null;
  })[];
  /** Number of changed values. */
  readonly restatements_total: number;
  /** Differences of bars on dates that are already in the store; null if there are none, or with full. */
  readonly left_out: {
    /** Number of new rows, and of rows with a later state, such as a membership that has ended or an announced action that is paid. */
    readonly added: number;
    /** Number of rows in the store whose values have changed. */
    readonly changed: number;
    /** Number of rows in the store that the source no longer contains. */
    readonly removed: number;
    /** New columns with values on dates that the store already has. */
    readonly columns: readonly string[];
    /** New securities with bars on these dates, at most 20. */
    readonly identifiers: readonly string[];
    /** Total number. */
    readonly identifiers_total: number;
  } | null;
  /** Securities with a history that was restated for a split. Their bars and actions are accepted. */
  readonly split_restatements: readonly ({
    /** Asset identifier. */
    readonly identifier: string;
    /** Number of shares after the split per share before it. */
    readonly ratio: number;
    /** First date with prices that are not divided; null if there is none yet. */
    readonly date: string | null;
  })[];
  /** Securities whose history has changed in the source; at most 200. Their stored bars and actions do not change, and no new ones are added. */
  readonly rejected: readonly ({
    /** Asset identifier. */
    readonly identifier: string;
    /** Number of bars of the history that differ in the source. */
    readonly bars: {
      /** Number of new rows, and of rows with a later state, such as a membership that has ended or an announced action that is paid. */
      readonly added: number;
      /** Number of rows in the store whose values have changed. */
      readonly changed: number;
      /** Number of rows in the store that the source no longer contains. */
      readonly removed: number;
    };
    /** Number of corporate actions of the history that differ in the source. */
    readonly corporate_actions: {
      /** Number of new rows, and of rows with a later state, such as a membership that has ended or an announced action that is paid. */
      readonly added: number;
      /** Number of rows in the store whose values have changed. */
      readonly changed: number;
      /** Number of rows in the store that the source no longer contains. */
      readonly removed: number;
    };
    /** Number of later bars that are not accepted. */
    readonly held_back: number;
    /** The first differences, at most 3. */
    readonly first: readonly ({
      /** Name of the table. */
      readonly dataset: 'market' | 'reference' | 'corporate_actions' | 'universes' | 'series';
      /** Asset identifier. */
      readonly identifier: string;
      /** The date. */
      readonly date: string | null;
      /** The column. */
      readonly column: string;
      /** Value before the change. */
      readonly before: string | number | boolean | null;
      /** Value after the change. */
      readonly after: string | number | boolean | null;
    })[];
  })[];
  /** Total number. */
  readonly rejected_total: number;
  /** True if nothing was stored or served. */
  readonly dry_run: boolean;
  /** SPLIT_RESTATED and HISTORY_CHANGED by security; HISTORY_CHANGED for other datasets; LATE_BARS; every data warning that the refresh causes, such as PRICE_JUMP; PARTIAL_DATE and GAP_LONG of the whole market also for the last dates before the refresh. */
  readonly findings: readonly Finding[];
}

/** Refreshes the active store, or another data store, from its source. The day waits until the store has prices of the session. */
export interface RefreshStep {
  readonly type: 'refresh';
  /** Data store. Default: the active store. */
  readonly store_id?: string | null | undefined;
  /** Finding codes that reject the whole refresh. */
  readonly fail_on: readonly ('REQUIRED' | 'WRONG_TYPE' | 'OUT_OF_RANGE' | 'NOT_IN_CHOICES' | 'UNKNOWN_FIELD' | 'UNKNOWN_TYPE' | 'UNKNOWN_PARAMETER' | 'MISSING_PARAMETER' | 'DUPLICATE_ID' | 'DUPLICATE_ROW_ID' | 'BAD_DATE' | 'BAD_IDENTIFIER' | 'ID_MISMATCH' | 'INVALID_RANGE' | 'PIPELINE_XOR_DERIVATION' | 'IMMUTABLE_FIELD' | 'UNKNOWN_OBJECTIVE' | 'UNKNOWN_CALENDAR' | 'UNKNOWN_INDEX' | 'RUN_NOT_FOUND' | 'RISK_MODEL_NOT_FOUND' | 'NO_DATA_IN_RANGE' | 'CIRCULAR_REFERENCE' | 'EMPTY_RANGE' | 'NO_EFFECT' | 'DEFAULT_TAKEN' | 'WEIGHTS_NOT_ONE' | 'RETURNS_DIFFER' | 'CURRENCIES_DIFFER' | 'VALUE_TYPE_MISMATCH' | 'UNKNOWN_FIELD_NAME' | 'BAD_EXPRESSION' | 'BAD_QUERY' | 'UNKNOWN_FUNCTION' | 'UNIT_MISMATCH' | 'CAP_INFEASIBLE' | 'NOT_IN_INDEX' | 'UNKNOWN_IDENTIFIER' | 'BENCHMARK_IS_SELF' | 'UNKNOWN_BLOCK_KIND' | 'PARENT_CHANGED' | 'NO_WEIGHT_DATA' | 'REBALANCE_HELD' | 'NO_REPLACEMENT' | 'CONSTRAINT_RELAXED' | 'LIMIT_NOT_KEPT' | 'SILENT_DELISTING' | 'RISK_FALLBACK_IDENTITY' | 'CHOICE_NOT_PROVEN' | 'FX_MISSING' | 'NO_RATE' | 'RIGHTS_NOT_ADJUSTED' | 'MISSING_COLUMN' | 'COLUMN_IGNORED' | 'ADJUSTMENT_UNEXPLAINED' | 'NOT_A_NUMBER' | 'NON_POSITIVE_PRICE' | 'DUPLICATE_KEY' | 'UNKNOWN_ACTION_TYPE' | 'BAD_RATIO' | 'OVERLAPPING_MEMBERSHIP' | 'EMPTY_DATASET' | 'UNREADABLE_FILE' | 'DAMAGED_FILE' | 'LOCATION_NOT_ALLOWED' | 'CALLBACK_NOT_ALLOWED' | 'TARGET_NOT_ALLOWED' | 'LOCATION_NOT_FOUND' | 'MORE_FINDINGS' | 'CONSTRAINT_SET_NOT_FOUND' | 'WATCHLIST_NOT_FOUND' | 'PLUGIN_NOT_FOUND' | 'PLUGIN_FAULT' | 'PRICE_JUMP' | 'GAP_LONG' | 'ACTION_WITHOUT_PRICE' | 'ACTION_CONFLICT' | 'ACTION_DATES' | 'ACTION_SIZE' | 'UNKNOWN_CURRENCY' | 'STALE_TAIL' | 'PARTIAL_DATE' | 'PRICE_BASIS' | 'NO_DIVIDENDS' | 'CURRENCY_ASSUMED' | 'FX_CROSSED' | 'HISTORY_CHANGED' | 'DATES_ADDED' | 'SPLIT_RESTATED' | 'LATE_BARS' | 'BAR_CORRECTED' | 'NOT_A_SESSION' | 'DIFFERENT_DATA' | 'WINDOW_CUT' | 'STALE_FILL' | 'NOT_ANNOUNCED' | 'TOO_FEW_NAMES' | 'JOINT_ESTIMATE' | 'FRONTIER_SCOPE' | 'LOOK_AHEAD' | 'MODEL_LACKS_NAMES')[];
}

/** Refreshes the active store, or another data store, from its source. The day waits until the store has prices of the session. */
export interface RefreshStepInput {
  readonly type: 'refresh';
  /** Data store. Default: the active store. */
  readonly store_id?: string | null | undefined;
  /** Finding codes that reject the whole refresh. */
  readonly fail_on?: readonly ('REQUIRED' | 'WRONG_TYPE' | 'OUT_OF_RANGE' | 'NOT_IN_CHOICES' | 'UNKNOWN_FIELD' | 'UNKNOWN_TYPE' | 'UNKNOWN_PARAMETER' | 'MISSING_PARAMETER' | 'DUPLICATE_ID' | 'DUPLICATE_ROW_ID' | 'BAD_DATE' | 'BAD_IDENTIFIER' | 'ID_MISMATCH' | 'INVALID_RANGE' | 'PIPELINE_XOR_DERIVATION' | 'IMMUTABLE_FIELD' | 'UNKNOWN_OBJECTIVE' | 'UNKNOWN_CALENDAR' | 'UNKNOWN_INDEX' | 'RUN_NOT_FOUND' | 'RISK_MODEL_NOT_FOUND' | 'NO_DATA_IN_RANGE' | 'CIRCULAR_REFERENCE' | 'EMPTY_RANGE' | 'NO_EFFECT' | 'DEFAULT_TAKEN' | 'WEIGHTS_NOT_ONE' | 'RETURNS_DIFFER' | 'CURRENCIES_DIFFER' | 'VALUE_TYPE_MISMATCH' | 'UNKNOWN_FIELD_NAME' | 'BAD_EXPRESSION' | 'BAD_QUERY' | 'UNKNOWN_FUNCTION' | 'UNIT_MISMATCH' | 'CAP_INFEASIBLE' | 'NOT_IN_INDEX' | 'UNKNOWN_IDENTIFIER' | 'BENCHMARK_IS_SELF' | 'UNKNOWN_BLOCK_KIND' | 'PARENT_CHANGED' | 'NO_WEIGHT_DATA' | 'REBALANCE_HELD' | 'NO_REPLACEMENT' | 'CONSTRAINT_RELAXED' | 'LIMIT_NOT_KEPT' | 'SILENT_DELISTING' | 'RISK_FALLBACK_IDENTITY' | 'CHOICE_NOT_PROVEN' | 'FX_MISSING' | 'NO_RATE' | 'RIGHTS_NOT_ADJUSTED' | 'MISSING_COLUMN' | 'COLUMN_IGNORED' | 'ADJUSTMENT_UNEXPLAINED' | 'NOT_A_NUMBER' | 'NON_POSITIVE_PRICE' | 'DUPLICATE_KEY' | 'UNKNOWN_ACTION_TYPE' | 'BAD_RATIO' | 'OVERLAPPING_MEMBERSHIP' | 'EMPTY_DATASET' | 'UNREADABLE_FILE' | 'DAMAGED_FILE' | 'LOCATION_NOT_ALLOWED' | 'CALLBACK_NOT_ALLOWED' | 'TARGET_NOT_ALLOWED' | 'LOCATION_NOT_FOUND' | 'MORE_FINDINGS' | 'CONSTRAINT_SET_NOT_FOUND' | 'WATCHLIST_NOT_FOUND' | 'PLUGIN_NOT_FOUND' | 'PLUGIN_FAULT' | 'PRICE_JUMP' | 'GAP_LONG' | 'ACTION_WITHOUT_PRICE' | 'ACTION_CONFLICT' | 'ACTION_DATES' | 'ACTION_SIZE' | 'UNKNOWN_CURRENCY' | 'STALE_TAIL' | 'PARTIAL_DATE' | 'PRICE_BASIS' | 'NO_DIVIDENDS' | 'CURRENCY_ASSUMED' | 'FX_CROSSED' | 'HISTORY_CHANGED' | 'DATES_ADDED' | 'SPLIT_RESTATED' | 'LATE_BARS' | 'BAR_CORRECTED' | 'NOT_A_SESSION' | 'DIFFERENT_DATA' | 'WINDOW_CUT' | 'STALE_FILL' | 'NOT_ANNOUNCED' | 'TOO_FEW_NAMES' | 'JOINT_ESTIMATE' | 'FRONTIER_SCOPE' | 'LOOK_AHEAD' | 'MODEL_LACKS_NAMES')[] | undefined;
}

export interface RelativeMetricsPayload {
  /** The benchmark as written in the request. */
  readonly reference: BenchmarkRef;
  /** First common date, as a full timestamp. */
  readonly start: string;
  /** Last common date, as a full timestamp. */
  readonly end: string;
  /** Number of common dates. */
  readonly observations: number;
  /** Level, 100 at the start. */
  readonly level: SeriesPayload;
  /** Return of the benchmark over the same dates. */
  readonly benchmark_return: number;
  /** Last level divided by the first, less 1. */
  readonly total_return: number;
  /** Return of the portfolio less the return of the benchmark. */
  readonly excess_return: number;
  /** Covariance of the returns with the returns of the reference, divided by the variance of the returns of the reference. */
  readonly beta: number;
  /** Correlation of the returns. */
  readonly correlation: number;
  /** Annualised standard deviation of return differences. */
  readonly tracking_error: number;
  /** Return variant of the benchmark; `raw` for a column other than CLOSE. */
  readonly return_variant: 'price' | 'total' | 'net' | 'raw';
}

/** Each weight is between two multiples of its index weight. */
export interface RelativePositionBoundsParams {
  /** Smallest multiple of the index weight. Unit: multiple. */
  readonly lower?: number | undefined;
  /** Largest multiple of the index weight. Unit: multiple. */
  readonly upper: number;
  /** Securities of the constraint. Default: all securities. */
  readonly identifiers?: readonly string[] | null | undefined;
  /** Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated. */
  readonly soft?: number | null | undefined;
  /** Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy. */
  readonly priority?: number | undefined;
}

export interface RelativePositionBoundsRow {
  readonly type: 'RelativePositionBounds';
  /** Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position. */
  readonly id?: string | undefined;
  /** Parameters of the type, by name. */
  readonly params?: RelativePositionBoundsParams | undefined;
}

/** Constraint with the limits that are tried if the problem is infeasible. */
export interface RelaxEntry {
  /** Id of the constraint that is relaxed. */
  readonly row: string;
  /** Limits that are tried in order. A number replaces the main limit of the constraint, and an object replaces the parameters that it contains. */
  readonly steps: readonly (number | Readonly<Record<string, unknown>>)[];
}

export interface RenderCollection {
  /** Finished renders, newest first. */
  readonly renders: readonly RenderResult[];
  /** Number of renders that match, on all pages. */
  readonly total: number;
  /** Number of stored documents that are omitted because they cannot be read. */
  readonly skipped: number;
  /** Number of omitted documents by cause. */
  readonly skipped_causes: SkippedCauses;
}

export interface RenderJobStatus {
  /** {kind}:{id}, for example backtest:LARGE-100. */
  readonly job_id: string;
  readonly kind: 'render';
  /** Order in which waiting jobs start. */
  readonly priority: 'high' | 'normal' | 'low';
  /** pending -> running -> succeeded, failed or cancelled. Terminal states never change. */
  readonly status: 'pending' | 'running' | 'succeeded' | 'failed' | 'cancelled';
  /** Completed fraction: 0 while pending, exactly 1 after success. It never decreases during an attempt. */
  readonly progress: number;
  /** Current step. */
  readonly message: string;
  /** Error of the job; only if it failed. */
  readonly error: ErrorDetail | null;
  /** Time of the submission, ISO-8601 UTC with offset. */
  readonly created_at: string;
  /** Start of the current attempt. */
  readonly started_at: string | null;
  /** Time of the end, ISO-8601 UTC with offset; null while it has not ended. */
  readonly finished_at: string | null;
  /** Time of the last heartbeat of the running attempt. */
  readonly heartbeat_at: string | null;
  /** Number of starts, which is recorded before the work starts. */
  readonly attempt: number;
  /** Latest attempts in order, at most eleven. The last one is the current attempt. */
  readonly attempts: readonly JobAttempt[];
  /** Request body as it was accepted. */
  readonly request: unknown;
  /** SHA-256 of all inputs except the market. */
  readonly input_hash: string;
  /** X-Request-Id of the submission, which log lines of the job contain. Null if the service submitted the job. */
  readonly request_id: string | null;
  /** Trace of the submission, from its header traceparent. */
  readonly trace_id: string | null;
  /** Addresses that are notified when the job ends. */
  readonly callbacks: readonly JobCallback[];
  /** Result of the job, if it succeeded. Null if the run of a backtest was deleted. */
  readonly result: RenderResult | null;
}

export interface RenderRequest {
  /** Id of a stored template, or of a built-in template such as FACTSHEET-A4. */
  readonly template_id: string;
  /** Index or strategy whose latest run is shown by the blocks without an `index_id`, and by all blocks of a built-in template. Ignored if every block of a stored template has an `index_id`. */
  readonly index_id?: string | null | undefined;
  /** Several indices in one document, each on a new page. Replaces index_id. */
  readonly index_ids?: readonly string[] | null | undefined;
  /** Run of each index or strategy of the report. Default: the newest run. */
  readonly run_ids?: Readonly<Record<string, string>> | null | undefined;
  /** Template that is rendered instead of the stored one, to preview changes before they are stored. Its template_id must be that of the request. */
  readonly template?: ReportTemplateDocumentInput | null | undefined;
}

export interface RenderResult {
  /** GET /reports/renders/{render_id} returns the PDF. */
  readonly render_id: string;
  /** The template. */
  readonly template_id: string;
  /** Display name. */
  readonly name: string;
  /** Requested index. Null for several indices, and for a template whose blocks have an index. */
  readonly index_id: string | null;
  /** Indices and strategies that the report shows. Absent in reports of earlier versions. */
  readonly index_ids?: readonly string[] | undefined;
  /** Last date of the runs that the report shows; the earliest of these dates if they differ. Absent without a run, and in reports of earlier versions. */
  readonly as_of?: string | undefined;
  /** Number of blocks. */
  readonly blocks: number;
  /** Size of the rendered document. */
  readonly bytes: number;
  /** Time of the rendering, ISO-8601 UTC with offset. It is not a date of the content. */
  readonly rendered_at: string;
  /** Number of pages. */
  readonly pages: number;
  /** Name of the file: template, first index and as-of date, and the id if an earlier render has this name. Only in listings. */
  readonly file_name?: string | undefined;
}

/** Renders a report of each index as PDF and keeps it with the day for delivery. */
export interface RenderStep {
  readonly type: 'render';
  /** Id of a stored template, or of a built-in template such as FACTSHEET-A4. */
  readonly template_id: string;
  /** Indices of the plan that have this report. Default: all indices. */
  readonly indices: readonly string[] | null;
  /** Pattern of the file name. */
  readonly name: string;
}

/** Renders a report of each index as PDF and keeps it with the day for delivery. */
export interface RenderStepInput {
  readonly type: 'render';
  /** Id of a stored template, or of a built-in template such as FACTSHEET-A4. */
  readonly template_id: string;
  /** Indices of the plan that have this report. Default: all indices. */
  readonly indices?: readonly string[] | null | undefined;
  /** Pattern of the file name. */
  readonly name?: string | undefined;
}

export interface RepairRequest {
  /** Ids of the data warnings whose repairs are applied. */
  readonly doubts: readonly string[];
  /** Id of the new store. Default: {store_id}-repaired-{n}. */
  readonly store_id?: string | undefined;
  /** Display name. */
  readonly name?: string | undefined;
  /** True serves the new store immediately. */
  readonly activate?: boolean | undefined;
}

export interface Replacement {
  /** Effective date. The change takes effect at its close. */
  readonly date: string;
  /** `next_ranked`: the best-ranked security that the last review did not select replaced a constituent that left; `reserve`: the first security of `events.reserve` with a price replaced a constituent that left; `fast_exit`: `events.fast_exit` removed a constituent that was ranked too low; `fast_entry`: `events.fast_entry` added a new security that was ranked high enough. */
  readonly rule: 'next_ranked' | 'reserve' | 'fast_exit' | 'fast_entry';
  /** Security that entered. */
  readonly entered: string;
  /** Constituent that left. */
  readonly left: string;
  /** Session whose data was used. */
  readonly decision_date: string;
  /** Session whose data ranked the security. For `next_ranked`, the reference date of the review that did not select it. Null for a reserve list. */
  readonly ranked_on: string | null;
  /** Rank of the security that entered. For `next_ranked`, the rank among the securities that the review did not select. For `reserve`, the position in the list. Otherwise the rank by the datapoint of the rule. */
  readonly rank: number;
  /** Rank of the constituent by the same datapoint. Null if it left because of an event such as a merger, or has no value. */
  readonly left_rank: number | null;
}

export interface ReplayJobStatus {
  /** {kind}:{id}, for example backtest:LARGE-100. */
  readonly job_id: string;
  readonly kind: 'replay';
  /** Order in which waiting jobs start. */
  readonly priority: 'high' | 'normal' | 'low';
  /** pending -> running -> succeeded, failed or cancelled. Terminal states never change. */
  readonly status: 'pending' | 'running' | 'succeeded' | 'failed' | 'cancelled';
  /** Completed fraction: 0 while pending, exactly 1 after success. It never decreases during an attempt. */
  readonly progress: number;
  /** Current step. */
  readonly message: string;
  /** Error of the job; only if it failed. */
  readonly error: ErrorDetail | null;
  /** Time of the submission, ISO-8601 UTC with offset. */
  readonly created_at: string;
  /** Start of the current attempt. */
  readonly started_at: string | null;
  /** Time of the end, ISO-8601 UTC with offset; null while it has not ended. */
  readonly finished_at: string | null;
  /** Time of the last heartbeat of the running attempt. */
  readonly heartbeat_at: string | null;
  /** Number of starts, which is recorded before the work starts. */
  readonly attempt: number;
  /** Latest attempts in order, at most eleven. The last one is the current attempt. */
  readonly attempts: readonly JobAttempt[];
  /** Request body as it was accepted. */
  readonly request: unknown;
  /** SHA-256 of all inputs except the market. */
  readonly input_hash: string;
  /** X-Request-Id of the submission, which log lines of the job contain. Null if the service submitted the job. */
  readonly request_id: string | null;
  /** Trace of the submission, from its header traceparent. */
  readonly trace_id: string | null;
  /** Addresses that are notified when the job ends. */
  readonly callbacks: readonly JobCallback[];
  /** Result of the job, if it succeeded. Null if the run of a backtest was deleted. */
  readonly result: ReplayView | null;
}

export interface ReplayView {
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** True if all stored data of the run was reproduced bit for bit. */
  readonly equal: boolean;
  /** First difference; null if the results are equal. */
  readonly first_difference: RunDifference | null;
  /** True if both runs have the same run_hash. */
  readonly inputs_equal: boolean;
  /** Hash of the stored run. */
  readonly stored_run_hash: string;
  /** Hash of the new run. */
  readonly replayed_run_hash: string;
  /** Engine of the stored run. */
  readonly stored_engine_version: string;
  /** Running engine. */
  readonly replayed_engine_version: string;
  /** Content hash of the store of the run. */
  readonly stored_content_hash: string;
  /** Content hash of the served store. */
  readonly replayed_content_hash: string;
  /** True if the stored definition has changed since the run. The replay uses the definition of the run. */
  readonly definition_changed: boolean;
  /** Time of the stored run. */
  readonly run_at: string | null;
}

/** `bar_chart`: Bars of figures of a run, or of values in the template. `chart`: Lines of a run over time. Levels are in one panel. Other lines have separate panels below it. `header`: Header of a report: a large title (default: the name of the index) and a subtitle. It also shows the last date, currency, return variant, price basis, transaction cost and state of the run. `stat_grid`: Figures of a run in a grid, or values in the template. `table`: Table of a run, or a table in the template. `text`: Paragraphs, separated by empty lines. Supported markup: `**bold**`, lists of lines that begin with `- ` or `* `, and numbered lists with `1. `. */
export type ReportBlock = BarChartBlock | ChartBlock | HeaderBlock | StatGridBlock | TableBlock | TextBlock;

/** `bar_chart`: Bars of figures of a run, or of values in the template. `chart`: Lines of a run over time. Levels are in one panel. Other lines have separate panels below it. `header`: Header of a report: a large title (default: the name of the index) and a subtitle. It also shows the last date, currency, return variant, price basis, transaction cost and state of the run. `stat_grid`: Figures of a run in a grid, or values in the template. `table`: Table of a run, or a table in the template. `text`: Paragraphs, separated by empty lines. Supported markup: `**bold**`, lists of lines that begin with `- ` or `* `, and numbered lists with `1. `. */
export type ReportBlockInput = BarChartBlockInput | ChartBlockInput | HeaderBlockInput | StatGridBlockInput | TableBlockInput | TextBlockInput;

export interface ReportPage {
  /** Paper size. */
  readonly size: 'A4' | 'LETTER' | 'A3';
  /** Portrait or landscape. */
  readonly orientation: 'portrait' | 'landscape';
  /** Points on every side. */
  readonly margin: number;
}

export interface ReportPageInput {
  /** Paper size. */
  readonly size?: 'A4' | 'LETTER' | 'A3' | undefined;
  /** Portrait or landscape. */
  readonly orientation?: 'portrait' | 'landscape' | undefined;
  /** Points on every side. */
  readonly margin?: number | undefined;
}

export interface ReportTemplateCollection {
  /** Stored templates by id. */
  readonly templates: readonly ReportTemplateDocument[];
  /** Templates that are generated from a run. They cannot be edited. */
  readonly built_in: readonly string[];
  /** Number of stored documents that are omitted because they cannot be read. */
  readonly skipped: number;
  /** Number of omitted documents by cause. */
  readonly skipped_causes: SkippedCauses;
}

export interface ReportTemplateDocument {
  /** Id of the template, which is part of its URL. */
  readonly template_id: string;
  /** Title of the rendered report. */
  readonly name: string;
  /** Blocks, drawn from top to bottom. A template without blocks can be stored but not rendered. */
  readonly blocks: readonly ReportBlock[];
  /** Size, orientation and margin of the pages. */
  readonly page: ReportPage;
}

export interface ReportTemplateDocumentInput {
  /** Id of the template, which is part of its URL. */
  readonly template_id: string;
  /** Title of the rendered report. */
  readonly name: string;
  /** Blocks, drawn from top to bottom. A template without blocks can be stored but not rendered. */
  readonly blocks?: readonly ReportBlockInput[] | undefined;
  /** Size, orientation and margin of the pages. */
  readonly page?: ReportPageInput | undefined;
}

export interface RequestingDay {
  /** The schedule. */
  readonly schedule_id: string;
  /** Session. */
  readonly date: string;
}

export interface RerunJobStatus {
  /** {kind}:{id}, for example backtest:LARGE-100. */
  readonly job_id: string;
  readonly kind: 'rerun';
  /** Order in which waiting jobs start. */
  readonly priority: 'high' | 'normal' | 'low';
  /** pending -> running -> succeeded, failed or cancelled. Terminal states never change. */
  readonly status: 'pending' | 'running' | 'succeeded' | 'failed' | 'cancelled';
  /** Completed fraction: 0 while pending, exactly 1 after success. It never decreases during an attempt. */
  readonly progress: number;
  /** Current step. */
  readonly message: string;
  /** Error of the job; only if it failed. */
  readonly error: ErrorDetail | null;
  /** Time of the submission, ISO-8601 UTC with offset. */
  readonly created_at: string;
  /** Start of the current attempt. */
  readonly started_at: string | null;
  /** Time of the end, ISO-8601 UTC with offset; null while it has not ended. */
  readonly finished_at: string | null;
  /** Time of the last heartbeat of the running attempt. */
  readonly heartbeat_at: string | null;
  /** Number of starts, which is recorded before the work starts. */
  readonly attempt: number;
  /** Latest attempts in order, at most eleven. The last one is the current attempt. */
  readonly attempts: readonly JobAttempt[];
  /** Request body as it was accepted. */
  readonly request: unknown;
  /** SHA-256 of all inputs except the market. */
  readonly input_hash: string;
  /** X-Request-Id of the submission, which log lines of the job contain. Null if the service submitted the job. */
  readonly request_id: string | null;
  /** Trace of the submission, from its header traceparent. */
  readonly trace_id: string | null;
  /** Addresses that are notified when the job ends. */
  readonly callbacks: readonly JobCallback[];
  /** Result of the job, if it succeeded. Null if the run of a backtest was deleted. */
  readonly result: RerunView | null;
}

export interface RerunRequest {
  /** Id of the rerun. Default: a generated id. */
  readonly rerun_id?: string | null | undefined;
  /** Indices and strategies, at most 10000. Duplicates are counted once. Null: all indices and strategies with a stored run. */
  readonly ids?: readonly string[] | null | undefined;
}

export interface RerunRow {
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** `stored`: the index was run again. `current`: its stored run is not stale. `refused`: see `error`; its stored run is kept. */
  readonly outcome: 'stored' | 'current' | 'refused';
  /** Id of its run; null if it was refused. */
  readonly run_id: string | null;
  /** Stored run that was stale; null if it was not run again. */
  readonly previous_run_id: string | null;
  /** Last date of its run; null if it was refused. */
  readonly end: string | null;
  /** Last date that was reused from the stale run; null if everything was computed. */
  readonly extended_from: string | null;
  /** Reason why the stale run was not extended; null if it was extended, or if the index was not run again. */
  readonly full_run_reason: 'definition_changed' | 'request_changed' | 'no_checkpoint' | 'names_changed' | 'history_changed' | 'no_new_session' | 'rebalance' | 'new_name' | 'holdings_diverged' | 'breach' | 'member_change' | 'default_changed' | 'overlay' | 'file_rewritten' | 'parted' | 'rewritten' | null;
  /** Error of the backtest; only if it was refused. */
  readonly error: ErrorDetail | null;
}

export interface RerunRows {
  /** The rerun. */
  readonly rerun_id: string;
  /** Rows of all blocks. */
  readonly count: number;
  /** Number of the block, from 0. */
  readonly block: number;
  /** Number of blocks. */
  readonly blocks: number;
  /** Rows in the order of the ids. */
  readonly rows: readonly RerunRow[];
}

export interface RerunView {
  /** The rerun. */
  readonly rerun_id: string;
  /** Number of checked indices and strategies. */
  readonly indices: number;
  /** Number of ids with a new run. */
  readonly stored: number;
  /** Number of ids with a stored run that is not stale. */
  readonly current: number;
  /** Number of ids that cannot be run. */
  readonly refused: number;
  /** Rows in the order of the ids: the first 2000. GET /analytics/reruns/{rerun_id}/rows returns all rows in blocks. */
  readonly rows: readonly RerunRow[];
  /** Version of the engine that computed the result. */
  readonly engine_version: string;
}

export interface ResampledFrontier {
  /** Number of draws with a frontier. */
  readonly draws: number;
  /** Points by rank. */
  readonly points: readonly {
    /** Annualised expected return. */
    readonly expected_return: number;
    /** Annualised standard deviation of returns. */
    readonly volatility: number;
    /** Annualised standard deviation of return differences. */
    readonly tracking_error: number;
    /** Mean weights over the draws, for securities with a weight. */
    readonly weights: Readonly<Record<string, number>>;
    /** Standard deviations of the weights over the draws, for the same securities. */
    readonly spread: Readonly<Record<string, number>>;
  }[];
}

/** Frontier that is averaged over draws from the estimated moments, in addition to the frontier of the estimates. */
export interface Resampling {
  /** Number of histories drawn. */
  readonly draws?: number | undefined;
  /** Seed of the draws. Equal seeds give equal draws, for any number of workers. */
  readonly seed?: number | undefined;
  /** Number of returns in each history. Null: the number in the window. */
  readonly sessions?: number | null | undefined;
}

/** Closes that are published again with other figures. */
export interface RestateFacts {
  readonly kind: 'restate';
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** Run that contains the closes. */
  readonly run_id: string;
  /** Number of closes that were published for the first time. */
  readonly published: number;
  /** Number of closes that were published again. */
  readonly restated: number;
  /** First date. */
  readonly first: string;
  /** Last date. */
  readonly last: string;
  /** Levels of the last date. */
  readonly close: ApprovedLevels;
  /** Published close before the first new close; null if there is none. */
  readonly previous: ApprovedClose | null;
  /** Restated dates on which a level changes by more than rounding (1e-12). */
  readonly levels_changed: number;
  /** Last restated close. */
  readonly latest: {
    /** The date. */
    readonly date: string;
    /** Published levels. */
    readonly before: ApprovedLevels;
    /** New levels. */
    readonly after: ApprovedLevels;
  };
  /** Largest change of a level; null if only divisor or composition differ. */
  readonly largest: LevelChange | null;
  /** Reason of the restatement. */
  readonly reason: string | null;
}

export interface ReturnStatistics {
  /** sqrt(sessions per year x mean of min(return, 0)^2). A fraction. */
  readonly downside_volatility: number;
  /** Mean return x sessions per year / downside volatility; null if no return is negative. */
  readonly sortino_ratio: number | null;
  /** Mean loss of the worst 5% of the sessions (their number is rounded up); positive for a loss. A fraction. */
  readonly cvar_95: number;
  /** Third central moment divided by the cubed population standard deviation; null without variation. */
  readonly skewness: number | null;
  /** Fraction of the sessions with a positive return. A fraction. */
  readonly hit_rate: number;
  /** Best session. A fraction. */
  readonly best_return: number;
  /** Worst session. A fraction. */
  readonly worst_return: number;
}

/** Uncertainty set around the expected returns. */
export interface ReturnsUncertainty {
  /** Form of the set: an ellipsoid of joint errors that are correlated like the returns, an ellipsoid of independent errors, or an interval for each security. */
  readonly set: 'ellipsoid' | 'diagonal' | 'box';
  /** Size of the set in standard errors of expected returns: of any portfolio, or, for a box, of each security. */
  readonly radius: number;
  /** Number of returns that determines the standard error, which is the volatility times the square root of (sessions per year (252 or 365) divided by this number). Null: the number of returns in the window. */
  readonly sessions: number | null;
}

/** Uncertainty set around the expected returns. */
export interface ReturnsUncertaintyInput {
  /** Form of the set: an ellipsoid of joint errors that are correlated like the returns, an ellipsoid of independent errors, or an interval for each security. */
  readonly set?: 'ellipsoid' | 'diagonal' | 'box' | undefined;
  /** Size of the set in standard errors of expected returns: of any portfolio, or, for a box, of each security. */
  readonly radius: number;
  /** Number of returns that determines the standard error, which is the volatility times the square root of (sessions per year (252 or 365) divided by this number). Null: the number of returns in the window. */
  readonly sessions?: number | null | undefined;
}

export interface ReviewSpec {
  /** Id of the review, which snapshots state. `rebalance` is the review of the document itself. */
  readonly id: string;
  /** Schedule, in the form of `rebalance` of the document. Required. */
  readonly schedule: RebalanceSpec;
  /** Select securities and set weights again (membership), set the weights of the current constituents again (weights), or only update share counts and free float (shares). */
  readonly scope: 'membership' | 'weights' | 'shares';
  /** Default: the value of the pipeline. */
  readonly selection?: readonly RuleSpec[] | undefined;
  /** Default: the value of the pipeline. */
  readonly weighting?: WeightingSpec | undefined;
}

export interface ReviewSpecInput {
  /** Id of the review, which snapshots state. `rebalance` is the review of the document itself. */
  readonly id: string;
  /** Schedule, in the form of `rebalance` of the document. Required. */
  readonly schedule?: RebalanceSpecInput | undefined;
  /** Select securities and set weights again (membership), set the weights of the current constituents again (weights), or only update share counts and free float (shares). */
  readonly scope: 'membership' | 'weights' | 'shares';
  /** Default: the value of the pipeline. */
  readonly selection?: readonly RuleSpecInput[] | undefined;
  /** Default: the value of the pipeline. */
  readonly weighting?: WeightingSpecInput | undefined;
}

/** The index with a target volatility. The rest is invested in cash. */
export interface RiskControlOverlay {
  readonly type: 'risk_control';
  /** Annual volatility of the overlay. */
  readonly target: number;
  /** Half-lives of the weights of squared returns, in sessions. The largest volatility is used. */
  readonly half_lives: readonly number[] | null;
  /** Number of sessions of the mean of squared returns. Replaces the half-lives. */
  readonly sessions: number | null;
  /** Largest fraction in the index: 1.5 is 150%. */
  readonly max_leverage: number;
  /** Number of sessions between the last return in the volatility and the exposure. */
  readonly lag: number;
  /** The exposure changes only if the target exposure differs from it by more than this value: 0.05 is 5 percentage points. Default: 0. */
  readonly tolerance?: number | undefined;
  /** Maximum change of the exposure at one review: 0.1 is 10 percentage points. Default: unlimited. */
  readonly max_change?: number | undefined;
  /** Dates on which the exposure can change: after every close, or after the last close of a month. Default: daily. */
  readonly review?: 'daily' | 'monthly' | undefined;
  /** Series of the store with the interest rate of cash, in percent per year; null for no interest. */
  readonly cash: string | null;
  /** Spread over the rate, for borrowed money at an exposure above 1. Default: 0. */
  readonly spread_bps?: number | undefined;
  /** Cost of changes of exposure at the close, in basis points of the traded amount. Default: 0. */
  readonly cost_bps?: number | undefined;
  /** Number of days per year. */
  readonly basis: 360 | 365;
  /** Number of sessions per year, with which a volatility is annualised. Default: 252, or 365 on a calendar that trades every day. */
  readonly annualisation?: number | undefined;
}

/** The index with a target volatility. The rest is invested in cash. */
export interface RiskControlOverlayInput {
  readonly type: 'risk_control';
  /** Annual volatility of the overlay. */
  readonly target: number;
  /** Half-lives of the weights of squared returns, in sessions. The largest volatility is used. */
  readonly half_lives?: readonly number[] | null | undefined;
  /** Number of sessions of the mean of squared returns. Replaces the half-lives. */
  readonly sessions?: number | null | undefined;
  /** Largest fraction in the index: 1.5 is 150%. */
  readonly max_leverage?: number | undefined;
  /** Number of sessions between the last return in the volatility and the exposure. */
  readonly lag?: number | undefined;
  /** The exposure changes only if the target exposure differs from it by more than this value: 0.05 is 5 percentage points. Default: 0. */
  readonly tolerance?: number | undefined;
  /** Maximum change of the exposure at one review: 0.1 is 10 percentage points. Default: unlimited. */
  readonly max_change?: number | undefined;
  /** Dates on which the exposure can change: after every close, or after the last close of a month. Default: daily. */
  readonly review?: 'daily' | 'monthly' | undefined;
  /** Series of the store with the interest rate of cash, in percent per year; null for no interest. */
  readonly cash?: string | null | undefined;
  /** Spread over the rate, for borrowed money at an exposure above 1. Default: 0. */
  readonly spread_bps?: number | undefined;
  /** Cost of changes of exposure at the close, in basis points of the traded amount. Default: 0. */
  readonly cost_bps?: number | undefined;
  /** Number of days per year. */
  readonly basis?: 360 | 365 | undefined;
  /** Number of sessions per year, with which a volatility is annualised. Default: 252, or 365 on a calendar that trades every day. */
  readonly annualisation?: number | undefined;
}

export interface RiskDecomposition {
  /** Version of the index or strategy; null for runs that were stored before versions existed. */
  readonly index_version: number | null;
  /** Data store on which the run was computed; null for runs that were stored without it. */
  readonly store_id: string | null;
  /** Causes why the run is stale; null if the stored run equals a new run of the request. */
  readonly stale: StaleState | null;
  /** Fraction of the factor variance that the factor contributes. It can be negative. */
  readonly contributions: Readonly<Record<string, number>>;
  /** Fraction of the total variance that the factors explain. */
  readonly factor_share: number;
  /** Variance that the factors explain. */
  readonly factor_variance: number;
  /** Specific variance of the securities. */
  readonly specific_variance: number;
  /** Total variance. */
  readonly total_variance: number;
  /** Residual, which contains only rounding errors. */
  readonly residual: number;
  /** True if the residual is within its tolerance. */
  readonly reconciles: boolean;
  /** Source of the factors. For a stored model, its estimator, or `imported`. */
  readonly model: 'market_sector' | 'statistical' | 'industries' | 'styles' | 'imported';
  /** Factors of the model. */
  readonly factors: readonly string[];
  /** Requested value; null if omitted. */
  readonly requested_as_of: string | null;
  /** Date of the weights. */
  readonly as_of: string;
  /** Stored risk model; null for a model estimated over the window of the run. */
  readonly risk_model: string | null;
  /** Requested estimator; null for `model` or a stored model. */
  readonly risk_estimator: 'statistical' | 'industries' | 'styles' | null;
  /** Securities without an estimate. */
  readonly uncovered: readonly string[];
  /** First date of the levels of the run. The estimation period begins on this date. */
  readonly window_start: string | null;
  /** Last date of the levels of the run. */
  readonly window_end: string | null;
  /** Number of sessions with a return of every covered security, from which the risk is estimated; null for a stored model. */
  readonly observations: number | null;
  /** `LOOK_AHEAD`: the estimate uses returns after as_of. `MODEL_LACKS_NAMES`: the stored model has no estimate for some securities. `NO_EFFECT`: the model does not use `factors`. */
  readonly findings: readonly Finding[];
  /** Annualised standard deviation of return differences. */
  readonly tracking_error: number;
  /** Active exposure to each factor. */
  readonly exposures: Readonly<Record<string, number>>;
  /** Index or identifier of the comparison. */
  readonly benchmark: string;
  /** Fraction of the gross active weight with an estimate. The figures are scaled to the full weight. */
  readonly covered_weight: number;
}

export interface RiskDiagnosticsPayload {
  /** Number of securities. */
  readonly assets: number;
  /** Number of sessions after incomplete sessions were excluded; for a model by identifiers, number of days of the data. 0 for an imported model. */
  readonly observations: number;
  /** Mean off-diagonal correlation of the returned matrix; 0 for a single security. */
  readonly average_correlation: number;
  /** Largest eigenvalue divided by the smallest. 1e300 for a singular matrix, whose smallest eigenvalue is at most 1e-15 times the number of securities times the largest eigenvalue. Such a matrix has no inverse to working precision. */
  readonly condition_number: number;
  /** Weight of the target. 0 is the sample covariance, or the covariance of a model without a target. */
  readonly intensity: number;
  /** True if no eigenvalue is negative. */
  readonly positive_semi_definite: boolean;
  /** True if negative eigenvalues were clipped. */
  readonly repaired: boolean;
  /** Smallest eigenvalue of the matrix in the response. */
  readonly smallest_eigenvalue: number;
  /** Target of the shrinkage; `none` for an imported model and for estimators that do not shrink. */
  readonly target: 'constant_correlation' | 'scaled_identity' | 'none';
}

/** Settings of a risk model, as in an estimate request. */
export interface RiskEstimator {
  /** `shrinkage`: a sample covariance shrunk towards a target; `nonlinear`: every eigenvalue shrunk by the analytical formula of Ledoit and Wolf; `gerber`: joint moves beyond a threshold; `denoised`: eigenvalues below the Marchenko-Pastur edge replaced by their mean; `newey_west`: weighted by half_life, with autocovariances; `statistical`: principal components as factors; `industries`: market and SECTOR as factors; `styles`: these and size, value, momentum, volatility, liquidity, quality and dividend. */
  readonly estimator: 'shrinkage' | 'nonlinear' | 'gerber' | 'denoised' | 'newey_west' | 'statistical' | 'industries' | 'styles';
  /** Number of principal components. Default: 10. Read by statistical. */
  readonly factors?: number | undefined;
  /** Number of samples that are drawn to adjust eigenvalues for their bias, as in USE4. With industries and styles, the eigenvalues of the factor covariance are adjusted; with newey_west, those of the covariance. 200 are sufficient. Default: no adjustment. Read by newey_west, industries and styles. */
  readonly eigenvalue_simulations?: number | undefined;
  /** Size of a joint move in standard deviations. Default: 0.5. Read by gerber. */
  readonly threshold: number;
  /** Number of autocovariances. Default: 5. Read by newey_west. */
  readonly lags: number;
  /** Target of the shrinkage. Read by shrinkage. */
  readonly target: 'constant_correlation' | 'scaled_identity';
  /** Weight of the target. With 0, the result is the sample covariance. Null uses intensity_method. Read by shrinkage. */
  readonly intensity: number | null;
  /** Method of the intensity; ignored if intensity is present. `shape`: securities / (securities + observations). `ledoit_wolf`: the analytic intensity of the data. Read by shrinkage. */
  readonly intensity_method: 'shape' | 'ledoit_wolf';
  /** Sessions after which the weight of an observation halves. Default: equal weights. */
  readonly half_life: number | null;
  /** Number of returns up to the decision. Default: 504 in a derived index, the whole window in a run. */
  readonly sessions: number | null;
}

/** Settings of a risk model, as in an estimate request. */
export interface RiskEstimatorInput {
  /** `shrinkage`: a sample covariance shrunk towards a target; `nonlinear`: every eigenvalue shrunk by the analytical formula of Ledoit and Wolf; `gerber`: joint moves beyond a threshold; `denoised`: eigenvalues below the Marchenko-Pastur edge replaced by their mean; `newey_west`: weighted by half_life, with autocovariances; `statistical`: principal components as factors; `industries`: market and SECTOR as factors; `styles`: these and size, value, momentum, volatility, liquidity, quality and dividend. */
  readonly estimator?: 'shrinkage' | 'nonlinear' | 'gerber' | 'denoised' | 'newey_west' | 'statistical' | 'industries' | 'styles' | undefined;
  /** Number of principal components. Default: 10. Read by statistical. */
  readonly factors?: number | undefined;
  /** Number of samples that are drawn to adjust eigenvalues for their bias, as in USE4. With industries and styles, the eigenvalues of the factor covariance are adjusted; with newey_west, those of the covariance. 200 are sufficient. Default: no adjustment. Read by newey_west, industries and styles. */
  readonly eigenvalue_simulations?: number | undefined;
  /** Size of a joint move in standard deviations. Default: 0.5. Read by gerber. */
  readonly threshold?: number | undefined;
  /** Number of autocovariances. Default: 5. Read by newey_west. */
  readonly lags?: number | undefined;
  /** Target of the shrinkage. Read by shrinkage. */
  readonly target?: 'constant_correlation' | 'scaled_identity' | undefined;
  /** Weight of the target. With 0, the result is the sample covariance. Null uses intensity_method. Read by shrinkage. */
  readonly intensity?: number | null | undefined;
  /** Method of the intensity; ignored if intensity is present. `shape`: securities / (securities + observations). `ledoit_wolf`: the analytic intensity of the data. Read by shrinkage. */
  readonly intensity_method?: 'shape' | 'ledoit_wolf' | undefined;
  /** Sessions after which the weight of an observation halves. Default: equal weights. */
  readonly half_life?: number | null | undefined;
  /** Number of returns up to the decision. Default: 504 in a derived index, the whole window in a run. */
  readonly sessions?: number | null | undefined;
}

export interface RiskModelCollection {
  /** Summaries by id. */
  readonly risk_models: readonly RiskModelSummary[];
  /** Number of stored documents that are omitted because they cannot be read. */
  readonly skipped: number;
  /** Number of omitted documents by cause. */
  readonly skipped_causes: SkippedCauses;
}

export interface RiskModelImport {
  /** Period of variances and covariances: year or session. Values per session are multiplied by `annualisation`. */
  readonly units: 'annual' | 'daily';
  /** Number of sessions per year, for daily units. */
  readonly annualisation: number;
  /** True replaces covariances that are not symmetric by the mean of both values, and negative eigenvalues by 0 without changing variances. By default, both are errors. */
  readonly repair: boolean;
  /** One model per date, ascending. All models consist of covariances, or all models are factor models with the same factors. */
  readonly models: readonly ImportedModelDate[];
}

export interface RiskModelImportInput {
  /** Period of variances and covariances: year or session. Values per session are multiplied by `annualisation`. */
  readonly units: 'annual' | 'daily';
  /** Number of sessions per year, for daily units. */
  readonly annualisation?: number | undefined;
  /** True replaces covariances that are not symmetric by the mean of both values, and negative eigenvalues by 0 without changing variances. By default, both are errors. */
  readonly repair?: boolean | undefined;
  /** One model per date, ascending. All models consist of covariances, or all models are factor models with the same factors. */
  readonly models: readonly ImportedModelDate[];
}

export interface RiskModelImportResult {
  /** The risk model. */
  readonly model_id: string;
  /** Securities of all dates. */
  readonly assets: number;
  /** Factors in the order of the model; empty for covariances. */
  readonly factors: readonly string[];
  /** Settings and dates of the model. */
  readonly imported: ImportedModelPayload;
  /** SHA-256 of securities, dates and matrices. */
  readonly content_hash: string;
  /** Warnings, which do not block an import. */
  readonly findings: readonly Finding[];
}

export interface RiskModelJobStatus {
  /** {kind}:{id}, for example backtest:LARGE-100. */
  readonly job_id: string;
  readonly kind: 'risk';
  /** Order in which waiting jobs start. */
  readonly priority: 'high' | 'normal' | 'low';
  /** pending -> running -> succeeded, failed or cancelled. Terminal states never change. */
  readonly status: 'pending' | 'running' | 'succeeded' | 'failed' | 'cancelled';
  /** Completed fraction: 0 while pending, exactly 1 after success. It never decreases during an attempt. */
  readonly progress: number;
  /** Current step. */
  readonly message: string;
  /** Error of the job; only if it failed. */
  readonly error: ErrorDetail | null;
  /** Time of the submission, ISO-8601 UTC with offset. */
  readonly created_at: string;
  /** Start of the current attempt. */
  readonly started_at: string | null;
  /** Time of the end, ISO-8601 UTC with offset; null while it has not ended. */
  readonly finished_at: string | null;
  /** Time of the last heartbeat of the running attempt. */
  readonly heartbeat_at: string | null;
  /** Number of starts, which is recorded before the work starts. */
  readonly attempt: number;
  /** Latest attempts in order, at most eleven. The last one is the current attempt. */
  readonly attempts: readonly JobAttempt[];
  /** Request body as it was accepted. */
  readonly request: unknown;
  /** SHA-256 of all inputs except the market. */
  readonly input_hash: string;
  /** X-Request-Id of the submission, which log lines of the job contain. Null if the service submitted the job. */
  readonly request_id: string | null;
  /** Trace of the submission, from its header traceparent. */
  readonly trace_id: string | null;
  /** Addresses that are notified when the job ends. */
  readonly callbacks: readonly JobCallback[];
  /** Result of the job, if it succeeded. Null if the run of a backtest was deleted. */
  readonly result: RiskModelView | null;
}

export interface RiskModelRequest {
  /** Securities of the estimate. Duplicates are counted once. Empty: the securities of index_id. The sessions are the days on which at least one of the securities has a price on any exchange, not the sessions of a calendar. */
  readonly identifiers?: readonly string[] | undefined;
  /** Index whose latest run provides the securities: its last holdings. The sessions are those of the calendar of the index. */
  readonly index_id?: string | null | undefined;
  /** First day of the window. Default: the whole stored history. */
  readonly start?: string | null | undefined;
  /** Last day of the window. */
  readonly end?: string | null | undefined;
  /** Version of the data: a number, or the newest version known at a time (for a date: its end, in UTC). */
  readonly as_known_on?: number | string | undefined;
  /** `shrinkage`: a sample covariance shrunk towards a target; `nonlinear`: every eigenvalue shrunk by the analytical formula of Ledoit and Wolf; `gerber`: joint moves beyond a threshold; `denoised`: eigenvalues below the Marchenko-Pastur edge replaced by their mean; `newey_west`: weighted by half_life, with autocovariances; `statistical`: principal components as factors; `industries`: market and SECTOR as factors; `styles`: these and size, value, momentum, volatility, liquidity, quality and dividend. */
  readonly estimator?: 'shrinkage' | 'nonlinear' | 'gerber' | 'denoised' | 'newey_west' | 'statistical' | 'industries' | 'styles' | undefined;
  /** Number of principal components. Default: 10. Read by statistical. */
  readonly factors?: number | undefined;
  /** Number of samples that are drawn to adjust eigenvalues for their bias, as in USE4. With industries and styles, the eigenvalues of the factor covariance are adjusted; with newey_west, those of the covariance. 200 are sufficient. Default: no adjustment. Read by newey_west, industries and styles. */
  readonly eigenvalue_simulations?: number | undefined;
  /** Size of a joint move in standard deviations. Default: 0.5. Read by gerber. */
  readonly threshold?: number | undefined;
  /** Number of autocovariances. Default: 5. Read by newey_west. */
  readonly lags?: number | undefined;
  /** Weight of the target. With 0, the result is the sample covariance. Null uses intensity_method. Read by shrinkage. */
  readonly intensity?: number | null | undefined;
  /** Target of the shrinkage. Read by shrinkage. */
  readonly target?: 'constant_correlation' | 'scaled_identity' | undefined;
  /** True replaces negative eigenvalues by 0 if the result is not positive semi-definite. The diagonal does not change. */
  readonly repair?: boolean | undefined;
  /** Method of the intensity; ignored if intensity is present. `shape`: securities / (securities + observations). `ledoit_wolf`: the analytic intensity of the data. Read by shrinkage. */
  readonly intensity_method?: 'shape' | 'ledoit_wolf' | undefined;
  /** Sessions after which the weight of an observation halves. Default: equal weights. Read by shrinkage, newey_west, industries and styles. */
  readonly half_life?: number | null | undefined;
  /** Total returns include dividends; price returns do not. */
  readonly returns?: 'total' | 'price' | undefined;
}

export interface RiskModelSummary {
  /** The risk model. */
  readonly model_id: string;
  /** Estimator; `imported` for an imported model. */
  readonly estimator: 'shrinkage' | 'nonlinear' | 'gerber' | 'denoised' | 'newey_west' | 'statistical' | 'industries' | 'styles' | 'imported';
  /** Index whose constituents were estimated; null for listed securities or an imported model. */
  readonly index_id: string | null;
  /** Data store of the returns; null for an imported model and for a model of an earlier release. A model with a store is refused on other stores. */
  readonly store_id: string | null;
  /** First date of the returns used, or of an imported model. */
  readonly observed_start: string;
  /** Last date of the returns used, or of an imported model. */
  readonly observed_end: string;
  /** Number of factors; null for a model without factors. */
  readonly factors: number | null;
  /** Number of securities. */
  readonly assets: number;
  /** Mean off-diagonal correlation; 0 for one security. */
  readonly average_correlation: number;
  /** Number of dates used. */
  readonly observations: number;
  /** True if no eigenvalue is negative. */
  readonly positive_semi_definite: boolean;
}

export interface RiskModelView {
  /** The risk model. */
  readonly model_id: string;
  /** Securities with an estimate, ascending. This is the order of the matrices. */
  readonly asset_ids: readonly string[];
  /** Correlation matrix, symmetric with a unit diagonal. */
  readonly correlation: TableFrame;
  /** Annualised. */
  readonly covariance: TableFrame;
  /** Annualised volatilities: square roots of the covariance diagonal. */
  readonly volatilities: Readonly<Record<string, number>>;
  /** Diagnostics of the estimate. */
  readonly diagnostics: RiskDiagnosticsPayload;
  /** Factors of the estimators statistical, industries and styles. Absent for other estimators. */
  readonly factor_model?: FactorModelPayload | undefined;
  /** Settings and dates of an imported model. Absent for other models. */
  readonly imported?: ImportedModelPayload | undefined;
  /** Date of the returned model; absent for an estimated model. */
  readonly date?: string | undefined;
  /** Bound of the window in the request. */
  readonly start: string | null;
  /** Bound of the window in the request. */
  readonly end: string | null;
  /** Excluded securities, with the reason. */
  readonly excluded: Readonly<Record<string, string>>;
  /** Unused settings of the request (`NO_EFFECT`), and warnings of an import. */
  readonly findings: readonly Finding[];
  /** Data store of the returns; null for an imported model and for a model of an earlier release. A model with a store is refused on other stores. */
  readonly store_id: string | null;
  /** First date of the returns used, or of an imported model. */
  readonly observed_start: string;
  /** Last date of the returns used, or of an imported model. */
  readonly observed_end: string;
  /** SHA-256 of securities and matrix. */
  readonly content_hash: string;
  /** Precision of the covariance product: float32 on the tensorflow engine. */
  readonly precision: 'float64' | 'float32';
}

/** Risk contributions that equal the budgets. The solution maximises the ratio of the geometric mean of the weights (weighted by budget) to the volatility. */
export interface RiskParityObjective {
  /** Fraction of the variance by identifier or by group, with a sum of 1. Default: equal fractions. A group divides its budget equally among the members without a separate budget. */
  readonly budgets?: Readonly<Record<string, number>> | null | undefined;
  /** Reference column with the groups that have budgets. It is not read if every budget is that of an identifier. */
  readonly budget_field?: string | undefined;
  readonly type: 'risk_parity';
}

export interface RiskPayload {
  /** Annualised volatility of the holdings. The weights of the covered securities are scaled to the weight of all securities. */
  readonly volatility: number;
  /** Fraction of the weights that the estimate covers. */
  readonly covered_weight: number;
  /** Stored risk model; null for a model estimated over the window of the run. */
  readonly risk_model: string | null;
  /** Requested estimator; null for the sample covariance or a stored model. */
  readonly risk_estimator: 'shrinkage' | 'nonlinear' | 'gerber' | 'denoised' | 'newey_west' | 'statistical' | 'industries' | 'styles' | null;
  /** Securities without an estimate. */
  readonly uncovered: readonly string[];
  /** First date of the levels of the run. The estimation period begins on this date. */
  readonly window_start: string | null;
  /** Last date of the levels of the run. */
  readonly window_end: string | null;
  /** Number of sessions with a return of every covered security, from which the risk is estimated; null for a stored model. */
  readonly observations: number | null;
}

export interface RiskValidationJobStatus {
  /** {kind}:{id}, for example backtest:LARGE-100. */
  readonly job_id: string;
  readonly kind: 'validate';
  /** Order in which waiting jobs start. */
  readonly priority: 'high' | 'normal' | 'low';
  /** pending -> running -> succeeded, failed or cancelled. Terminal states never change. */
  readonly status: 'pending' | 'running' | 'succeeded' | 'failed' | 'cancelled';
  /** Completed fraction: 0 while pending, exactly 1 after success. It never decreases during an attempt. */
  readonly progress: number;
  /** Current step. */
  readonly message: string;
  /** Error of the job; only if it failed. */
  readonly error: ErrorDetail | null;
  /** Time of the submission, ISO-8601 UTC with offset. */
  readonly created_at: string;
  /** Start of the current attempt. */
  readonly started_at: string | null;
  /** Time of the end, ISO-8601 UTC with offset; null while it has not ended. */
  readonly finished_at: string | null;
  /** Time of the last heartbeat of the running attempt. */
  readonly heartbeat_at: string | null;
  /** Number of starts, which is recorded before the work starts. */
  readonly attempt: number;
  /** Latest attempts in order, at most eleven. The last one is the current attempt. */
  readonly attempts: readonly JobAttempt[];
  /** Request body as it was accepted. */
  readonly request: unknown;
  /** SHA-256 of all inputs except the market. */
  readonly input_hash: string;
  /** X-Request-Id of the submission, which log lines of the job contain. Null if the service submitted the job. */
  readonly request_id: string | null;
  /** Trace of the submission, from its header traceparent. */
  readonly trace_id: string | null;
  /** Addresses that are notified when the job ends. */
  readonly callbacks: readonly JobCallback[];
  /** Result of the job, if it succeeded. Null if the run of a backtest was deleted. */
  readonly result: RiskValidationView | null;
}

export interface RiskValidationRequest {
  /** First day of a forecast. Default: the first day with a whole window before it. */
  readonly start?: string | null | undefined;
  /** Last outcome date. */
  readonly end?: string | null | undefined;
  /** Number of returns in each forecast, up to its day. */
  readonly sessions?: number | undefined;
  /** Number of sessions of an outcome, and of the interval between forecasts. Outcomes therefore do not overlap. */
  readonly horizon?: number | undefined;
  /** Index whose weights on each day of its latest run are a portfolio. Default: the index of the estimate, if there is one. */
  readonly index_id?: string | null | undefined;
  /** Number of random portfolios of at most 20 securities, and of random portfolios relative to the equally weighted portfolio. */
  readonly random?: number | undefined;
  /** Number of eigenvectors of each covariance that are used as portfolios, evenly spaced from the largest eigenvalue. */
  readonly eigenportfolios?: number | undefined;
  /** Seed of the random portfolios. */
  readonly seed?: number | undefined;
}

export interface RiskValidationView {
  /** The risk model. */
  readonly model_id: string;
  /** Estimator of every forecast. */
  readonly settings: {
    /** `shrinkage`: a sample covariance shrunk towards a target; `nonlinear`: every eigenvalue shrunk by the analytical formula of Ledoit and Wolf; `gerber`: joint moves beyond a threshold; `denoised`: eigenvalues below the Marchenko-Pastur edge replaced by their mean; `newey_west`: weighted by half_life, with autocovariances; `statistical`: principal components as factors; `industries`: market and SECTOR as factors; `styles`: these and size, value, momentum, volatility, liquidity, quality and dividend. */
    readonly estimator: 'shrinkage' | 'nonlinear' | 'gerber' | 'denoised' | 'newey_west' | 'statistical' | 'industries' | 'styles';
    /** Number of principal components. Default: 10. Read by statistical. */
    readonly factors?: number | undefined;
    /** Number of samples that are drawn to adjust eigenvalues for their bias, as in USE4. With industries and styles, the eigenvalues of the factor covariance are adjusted; with newey_west, those of the covariance. 200 are sufficient. Default: no adjustment. Read by newey_west, industries and styles. */
    readonly eigenvalue_simulations?: number | undefined;
    /** Size of a joint move in standard deviations. Default: 0.5. Read by gerber. */
    readonly threshold: number;
    /** Number of autocovariances. Default: 5. Read by newey_west. */
    readonly lags: number;
    /** Target of the shrinkage. Read by shrinkage. */
    readonly target: 'constant_correlation' | 'scaled_identity';
    /** Weight of the target. With 0, the result is the sample covariance. Null uses intensity_method. Read by shrinkage. */
    readonly intensity: number | null;
    /** Method of the intensity; ignored if intensity is present. `shape`: securities / (securities + observations). `ledoit_wolf`: the analytic intensity of the data. Read by shrinkage. */
    readonly intensity_method: 'shape' | 'ledoit_wolf';
    /** Sessions after which the weight of an observation halves. Default: equal weights. Read by shrinkage, newey_west, industries and styles. */
    readonly half_life: number | null;
  };
  /** Number of returns of each forecast. */
  readonly sessions: number;
  /** Number of sessions of an outcome. */
  readonly horizon: number;
  /** Index whose weights are tested as a portfolio. */
  readonly index_id: string | null;
  /** Day of the first forecast. */
  readonly start: string;
  /** Last day of the last outcome. */
  readonly end: string;
  /** Number of days with forecasts. */
  readonly forecasts: number;
  /** Number of days with too little data for an estimate. */
  readonly skipped: number;
  /** Means over the portfolios of each family. */
  readonly families: readonly ValidatedFamily[];
  /** Each portfolio over all of its forecasts. */
  readonly portfolios: readonly ValidatedPortfolio[];
  /** Rows by day of the forecast: number of securities with an estimate; forecast volatility and outcome over the horizon for the equally weighted portfolio and the index; root mean square of the standardised outcomes of each family. */
  readonly by_date: TableFrame;
}

export interface RollResponse {
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** The resolved date. */
  readonly as_of: string;
  /** Level of the underlying index. */
  readonly spot: number;
  /** Expiry of the contract that is sold. */
  readonly front_expiry: string;
  /** Expiry of the contract that is bought. */
  readonly back_expiry: string;
  /** Theoretical price of the front contract. */
  readonly front_price: number;
  /** Theoretical price of the back contract. */
  readonly back_price: number;
  /** Sum of the discrete dividends up to the front expiry. */
  readonly front_dividend_points: number;
  /** Sum of the discrete dividends up to the back expiry. */
  readonly back_dividend_points: number;
  /** Price of the back contract less price of the front contract. */
  readonly roll_cost: number;
  /** Roll yield: positive in backwardation, negative in contango. */
  readonly annualised_roll: number;
}

export interface RollingRiskView {
  /** Version of the index or strategy; null for runs that were stored before versions existed. */
  readonly index_version: number | null;
  /** Data store on which the run was computed; null for runs that were stored without it. */
  readonly store_id: string | null;
  /** Causes why the run is stale; null if the stored run equals a new run of the request. */
  readonly stale: StaleState | null;
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** Number of returns of a window; null with a half-life. */
  readonly window: number | null;
  /** Sessions after which the weight of a return halves; null with a window. */
  readonly half_life: number | null;
  /** Reference of the comparison: the tracked index, or a benchmark. */
  readonly against: 'index' | 'benchmark';
  /** Id of the benchmark; null if the index is the reference. */
  readonly benchmark_id: string | null;
  /** `WINDOW_CUT`: the benchmark lacks dates of the run. */
  readonly findings: readonly Finding[];
  /** Annualised figures by date: volatility of the run and of its reference (`index_volatility` or `benchmark_volatility`), tracking error, and beta and correlation to the reference. A benchmark is compared on the common dates. */
  readonly risk: TableFrame;
}

export interface RoundingSpec {
  /** Decimals of published, exported and printed levels. The calculation uses full precision. Unit: decimals. */
  readonly level?: number | undefined;
  /** Decimals of the divisor in the calculation. It is rounded whenever it changes. Unit: decimals. */
  readonly divisor?: number | undefined;
  /** Decimals of index shares in the calculation. They are rounded whenever they change. Requires base_market_value. Unit: decimals. */
  readonly shares?: number | undefined;
  /** Decimals of published, exported and printed weights. The calculation uses full precision. Unit: decimals. */
  readonly weights?: number | undefined;
}

export interface RuleFallback {
  /** The parameters are used if the previous parameters keep fewer securities than this number. */
  readonly when_fewer_than: number;
  /** Parameters that replace parameters of the rule. All other parameters do not change. */
  readonly params: Readonly<Record<string, unknown>>;
}

export interface RuleSpec {
  /** Id of the rule, unique within the pipeline. */
  readonly id: string;
  /** Rule class; see /indices/rule-types. */
  readonly type: string;
  /** Parameters of the type, by name. */
  readonly params: Readonly<Record<string, unknown>>;
  /** Parameters that are tried, in order, if the rule keeps too few securities. */
  readonly fallback?: readonly RuleFallback[] | undefined;
}

export interface RuleSpecInput {
  /** Id of the rule, unique within the pipeline. */
  readonly id: string;
  /** Rule class; see /indices/rule-types. */
  readonly type: string;
  /** Parameters of the type, by name. */
  readonly params?: Readonly<Record<string, unknown>> | undefined;
  /** Parameters that are tried, in order, if the rule keeps too few securities. */
  readonly fallback?: readonly RuleFallback[] | undefined;
}

export interface RuleTypes {
  /** Selection classes. */
  readonly selection: readonly TypeSpec[];
  /** Weighting classes. */
  readonly weighting: readonly TypeSpec[];
  /** Functions of expressions. */
  readonly functions: readonly FunctionSpec[];
  /** All other fields of a definition, by section. */
  readonly fields: DefinitionFields;
}

export interface RunDifference {
  /** Part that differs: a series, the weights, the securities, a field of the record (record.portfolio.cash), or result and overview. */
  readonly part: string;
  /** First date of the difference; null if the part has no dates. */
  readonly date: string | null;
  /** First security on that date, for parts with one value per security. */
  readonly name: string | null;
  /** Stored value. */
  readonly stored: number | string | null;
  /** Recomputed value. */
  readonly replayed: number | string | null;
}

/** Id of an index or strategy (its newest run), or one of its runs as ID@RUN. */
export type RunOf = string;

/** Runs every index of the plan with a stored run that is stale or ends before the session, with the settings of that run. Parents are run before derived indices, overlays and blends. */
export interface RunStep {
  readonly type: 'run';
}

export interface RunSummaryCollection {
  /** One row per run, by id. */
  readonly summaries: readonly RunSummaryRow[];
  /** Number of stored documents that are omitted because they cannot be read. */
  readonly skipped: number;
  /** Number of omitted documents by cause. */
  readonly skipped_causes: SkippedCauses;
}

export interface RunSummaryRow {
  /** Version of the index or strategy; null for runs that were stored before versions existed. */
  readonly index_version: number | null;
  /** Data store on which the run was computed; null for runs that were stored without it. */
  readonly store_id: string | null;
  /** Causes why the run is stale; null if the stored run equals a new run of the request. */
  readonly stale: StaleState | null;
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** Display name. */
  readonly name: string;
  /** Time of the run, ISO-8601 UTC with offset. */
  readonly run_at: string | null;
  /** Index or identifier with which the run was compared; null without a benchmark. */
  readonly benchmark: string | null;
  /** First date of the levels of the run. */
  readonly start: string;
  /** Last date of the levels of the run. */
  readonly end: string;
  /** Level in index points on that date; for a strategy, its level (100 at the start). */
  readonly level: number;
  /** Return variant of the levels. */
  readonly return_variant: 'price' | 'total' | 'net';
  /** Return of the last session, a fraction; null with a single date. */
  readonly day_return: number | null;
  /** Return since the last date of the previous calendar year, or since the first date of the run. A fraction. */
  readonly year_to_date: number;
  /** Annualised standard deviation of the returns of the last year (252 returns, or 365 if the calendar trades every day), or of all returns if there are fewer. A fraction. */
  readonly volatility: number;
  /** Last level divided by the first, less 1. A fraction. */
  readonly total_return: number;
  /** Lowest drawdown, at most 0. A fraction. */
  readonly max_drawdown: number;
  /** Levels of the last year: every fourth date from the last one on or before the same day one year earlier (or from the first date of the run), and the last date. */
  readonly trace: SeriesPayload;
  /** The same figures for the index, on the dates of the run, before trading costs but after the costs of an overlay. Null for a strategy. All other figures describe the portfolio after costs. */
  readonly index: IndexMoves | null;
  /** Date of the latest rebalance. */
  readonly last_rebalance: string;
  /** First effective date of the schedule after the run; null for a strategy, or if unknown. */
  readonly next_rebalance: string | null;
  /** First effective date of the schedule after the run and not before today (UTC); null for a strategy, or if unknown. */
  readonly coming_rebalance: string | null;
}

export interface RunsDifference {
  /** True if both runs have identical dates and levels, bit for bit. */
  readonly same_levels: boolean;
  /** First date on which the levels differ, or on which only one of the runs has a level. */
  readonly first_difference: string | null;
  /** Common date with the largest relative difference. Null if there is none, for example if only days were appended. */
  readonly largest: {
    /** The date. */
    readonly date: string;
    /** Level of the earlier run, 100 at its start. */
    readonly from: number;
    /** Level of the later run, 100 at its start. */
    readonly to: number;
  } | null;
  /** Changes of the index or strategy. Changes of documents that it uses are under `/documents/{id}`. */
  readonly definition: readonly DocumentChange[];
  /** Changes of the request, with its defaults. */
  readonly request: readonly DocumentChange[];
  /** Changes of the data. */
  readonly data: {
    /** Number of values that differ. Null for two stores, and if an earlier version of the data is no longer available. */
    readonly cells: number | null;
    /** The first of these values. */
    readonly first: readonly DataCell[];
    /** Number of rows that differ or that only one of the two versions contains; null if `cells` is null. */
    readonly rows: {
      /** Number of new rows. */
      readonly rows_added: number;
      /** Number of changed rows. */
      readonly rows_changed: number;
      /** Number of removed rows. */
      readonly rows_removed: number;
    } | null;
    /** Bars of sessions after the last session of the first version; null if there are none. */
    readonly appended: {
      /** Number of new sessions. */
      readonly sessions: number;
      /** Number of bars on these sessions, included in rows_added. */
      readonly rows: number;
      /** The first new session, YYYY-MM-DD. */
      readonly start: string;
      /** The last new session, YYYY-MM-DD. */
      readonly end: string;
    } | null;
    /** Data stores of the two runs; null for a run of an earlier version that does not store them. */
    readonly stores: {
      /** Data store of the earlier run. */
      readonly from: string | null;
      /** Data store of the later run. */
      readonly to: string | null;
    };
    /** Reason why `cells` is null; otherwise null. */
    readonly reason: string | null;
  };
  /** Engine versions of the two runs. */
  readonly engine: {
    /** Version of the engine of the earlier run. */
    readonly from: string;
    /** Version of the engine of the later run. */
    readonly to: string;
  };
  /** Effects, which add up to total_return exactly. Null if a replay is impossible: see `effects_reason`. */
  readonly effects: readonly ({
    /** Inputs that were replaced, in this order. */
    readonly cause: 'definition' | 'request' | 'data' | 'engine';
    /** Effect of the replaced input on the total return. */
    readonly total_return: number;
  })[] | null;
  /** Reason why `effects` is null: the replay was refused, or needs data that is not served or no longer available. Otherwise null. */
  readonly effects_reason: string | null;
  /** Total return of the later run less the total return of the earlier run, to 15 digits of the larger one. */
  readonly total_return: number;
}

export interface RunsDifferenceJobStatus {
  /** {kind}:{id}, for example backtest:LARGE-100. */
  readonly job_id: string;
  readonly kind: 'diff';
  /** Order in which waiting jobs start. */
  readonly priority: 'high' | 'normal' | 'low';
  /** pending -> running -> succeeded, failed or cancelled. Terminal states never change. */
  readonly status: 'pending' | 'running' | 'succeeded' | 'failed' | 'cancelled';
  /** Completed fraction: 0 while pending, exactly 1 after success. It never decreases during an attempt. */
  readonly progress: number;
  /** Current step. */
  readonly message: string;
  /** Error of the job; only if it failed. */
  readonly error: ErrorDetail | null;
  /** Time of the submission, ISO-8601 UTC with offset. */
  readonly created_at: string;
  /** Start of the current attempt. */
  readonly started_at: string | null;
  /** Time of the end, ISO-8601 UTC with offset; null while it has not ended. */
  readonly finished_at: string | null;
  /** Time of the last heartbeat of the running attempt. */
  readonly heartbeat_at: string | null;
  /** Number of starts, which is recorded before the work starts. */
  readonly attempt: number;
  /** Latest attempts in order, at most eleven. The last one is the current attempt. */
  readonly attempts: readonly JobAttempt[];
  /** Request body as it was accepted. */
  readonly request: unknown;
  /** SHA-256 of all inputs except the market. */
  readonly input_hash: string;
  /** X-Request-Id of the submission, which log lines of the job contain. Null if the service submitted the job. */
  readonly request_id: string | null;
  /** Trace of the submission, from its header traceparent. */
  readonly trace_id: string | null;
  /** Addresses that are notified when the job ends. */
  readonly callbacks: readonly JobCallback[];
  /** Result of the job, if it succeeded. Null if the run of a backtest was deleted. */
  readonly result: RunsDifference | null;
}

export interface RunsDifferenceRequest {
  /** Id of the earlier run. */
  readonly from: string;
  /** Id of the later run. */
  readonly to: string;
}

export interface SavedConstraintSet {
  /** The stored set. */
  readonly constraint_set: ConstraintSet;
  /** Warnings that did not prevent the save. */
  readonly findings: readonly Finding[];
}

export interface SavedIndex {
  /** The stored document. */
  readonly index: IndexDocument;
  /** Warnings that did not prevent the save. */
  readonly findings: readonly Finding[];
}

export interface SavedReportTemplate {
  /** Id of the template, which is part of its URL. */
  readonly template_id: string;
  /** Title of the rendered report. */
  readonly name: string;
  /** Blocks, drawn from top to bottom. A template without blocks can be stored but not rendered. */
  readonly blocks: readonly ReportBlock[];
  /** Size, orientation and margin of the pages. */
  readonly page: ReportPage;
  /** Warnings that did not prevent the save. Absent if there are none. */
  readonly findings?: readonly Finding[] | undefined;
}

export interface SavedStrategy {
  /** The stored strategy. */
  readonly strategy: StrategyDocument;
  /** Warnings that did not prevent the save. */
  readonly findings: readonly Finding[];
}

export interface ScenarioGroup {
  /** The group. */
  readonly group: string;
  /** Weight of the group on as_of. */
  readonly weight: number;
  /** Sum of the contributions of its securities. */
  readonly contribution: number;
}

export interface ScenarioName {
  /** Asset identifier. */
  readonly identifier: string;
  /** Weight on as_of. */
  readonly weight: number;
  /** Return of the security in the scenario. */
  readonly return: number;
  /** weight * return. */
  readonly contribution: number;
  /** Uncertainty of the estimated slopes, for a response by regression. */
  readonly standard_error: number | null;
}

export interface ScenarioRequest {
  /** Date of the composition. Default: the last date of the run. */
  readonly as_of?: string | null | undefined;
  /** Reference column of groups and proxies. */
  readonly by?: string | undefined;
  /** Past windows and shocks. */
  readonly scenarios: readonly (WindowScenario | ShockScenarioInput)[];
}

export interface ScenarioResult {
  /** Display name. */
  readonly name: string;
  /** Sum of the contributions. Cash earns nothing. Null for a window outside the data of the store; the finding `NO_DATA_IN_RANGE` states the dates. */
  readonly return: number | null;
  /** Entries by contribution, the lowest first. */
  readonly by_name: readonly ScenarioName[];
  /** Entries by contribution, the lowest first. */
  readonly by_group: readonly ScenarioGroup[];
  /** Gross weight of the securities with returns in the window, divided by the gross weight of all securities. */
  readonly covered_weight: number;
  /** Securities for which the equally weighted return of their group, or of all securities, is used. */
  readonly proxied: readonly {
    /** Asset identifier. */
    readonly identifier: string;
    /** Group whose return is used, or all securities. */
    readonly proxy: string;
  }[];
  /** First and last close of the return. Null for shocks, and if there is no return. */
  readonly window: {
    /** First date. */
    readonly start: string;
    /** Last date. */
    readonly end: string;
  } | null;
  /** Session of the window with the lowest return; null for shocks. */
  readonly worst_session: {
    /** The date. */
    readonly date: string;
    /** Sum of the contributions. In worst_session and worst_sessions, the return of that session. */
    readonly return: number;
  } | null;
  /** Five sessions of the window with the lowest returns, beginning with the lowest. Empty for shocks. */
  readonly worst_sessions: readonly {
    /** The date. */
    readonly date: string;
    /** Sum of the contributions. In worst_session and worst_sessions, the return of that session. */
    readonly return: number;
  }[];
  /** R-squared of the regression of the composition on the factors; null without factors. */
  readonly r_squared: number | null;
  /** Number of returns in the regression. */
  readonly observations: number | null;
  /** Standard error of the return from the estimated slopes; null without factors. */
  readonly standard_error: number | null;
}

export interface ScenariosView {
  /** Version of the index or strategy; null for runs that were stored before versions existed. */
  readonly index_version: number | null;
  /** Data store on which the run was computed; null for runs that were stored without it. */
  readonly store_id: string | null;
  /** Causes why the run is stale; null if the stored run equals a new run of the request. */
  readonly stale: StaleState | null;
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** The resolved date. */
  readonly as_of: string;
  /** Reference column of groups and proxies. */
  readonly by: string;
  /** Results in the order of the request. */
  readonly scenarios: readonly ScenarioResult[];
  /** `NO_DATA_IN_RANGE`: the store does not cover the window. `WINDOW_CUT`: the data ends within the window. `NO_EFFECT`: an unused setting. */
  readonly findings: readonly Finding[];
}

export interface Schedule {
  /** Display name. */
  readonly name: string;
  /** Free text. */
  readonly description: string | null;
  /** True if days start automatically. */
  readonly enabled: boolean;
  /** Indices of the family, in any order. Parents are computed before the indices that depend on them. */
  readonly indices: readonly string[];
  /** Exchange whose sessions are the days of the schedule. */
  readonly calendar: string;
  /** Local time at which the day of a session starts. */
  readonly at: string;
  /** Number of days after the session. With 1, the day starts on the next calendar day. */
  readonly day_offset: number;
  /** Time zone of the IANA database. Default: the time zone of the calendar. */
  readonly time_zone: string | null;
  /** Number of minutes from the start to the deadline of a day. A day that ends after its deadline is late. */
  readonly deadline_minutes: number | null;
  /** Minutes until the next attempt of a day that is waiting or blocked. */
  readonly retry_minutes: number;
  /** Number of sessions that are performed after an outage. Earlier sessions are recorded as missed. */
  readonly catch_up: number;
  /** Number of days after the end of a day for which the service keeps its files; null keeps them permanently. */
  readonly keep_files_days: number | null;
  /** Effect of a failed or blocked index: the index and the indices that depend on it are held back (continue), or the whole family is held back (stop). */
  readonly on_failure: 'continue' | 'stop';
  /** Steps of a day, in order. */
  readonly steps: readonly (RefreshStep | ChecksStep | RunStep | CompareStep | PublishStep | ExportStep | RenderStep | DeliverStep)[];
  /** First session. */
  readonly starts_on: string;
  /** The schedule. */
  readonly schedule_id: string;
  /** Time of the last change, ISO-8601 UTC with offset. */
  readonly updated_at: string;
}

export interface ScheduleBody {
  /** Display name. */
  readonly name: string;
  /** Free text. */
  readonly description?: string | null | undefined;
  /** True if days start automatically. */
  readonly enabled?: boolean | undefined;
  /** Indices of the family, in any order. Parents are computed before the indices that depend on them. */
  readonly indices: readonly string[];
  /** Exchange whose sessions are the days of the schedule. */
  readonly calendar: string;
  /** Local time at which the day of a session starts. */
  readonly at: string;
  /** Number of days after the session. With 1, the day starts on the next calendar day. */
  readonly day_offset?: number | undefined;
  /** Time zone of the IANA database. Default: the time zone of the calendar. */
  readonly time_zone?: string | null | undefined;
  /** Number of minutes from the start to the deadline of a day. A day that ends after its deadline is late. */
  readonly deadline_minutes?: number | null | undefined;
  /** Minutes until the next attempt of a day that is waiting or blocked. */
  readonly retry_minutes?: number | undefined;
  /** First session. Default: the session of the day on which the schedule is stored, or the next session. */
  readonly starts_on?: string | undefined;
  /** Number of sessions that are performed after an outage. Earlier sessions are recorded as missed. */
  readonly catch_up?: number | undefined;
  /** Number of days after the end of a day for which the service keeps its files; null keeps them permanently. */
  readonly keep_files_days?: number | null | undefined;
  /** Effect of a failed or blocked index: the index and the indices that depend on it are held back (continue), or the whole family is held back (stop). */
  readonly on_failure?: 'continue' | 'stop' | undefined;
  /** Steps of a day, in order. */
  readonly steps: readonly (RefreshStepInput | ChecksStepInput | RunStep | CompareStepInput | PublishStepInput | ExportStepInput | RenderStepInput | DeliverStepInput)[];
}

export interface ScheduleCollection {
  /** Schedules by id. */
  readonly schedules: readonly ListedSchedule[];
  /** Number of stored documents that are omitted because they cannot be read. */
  readonly skipped: number;
  /** Number of omitted documents by cause. */
  readonly skipped_causes: SkippedCauses;
}

/** Day of a session: its plan and its results. */
export interface ScheduleDay {
  /** The schedule. */
  readonly schedule_id: string;
  /** Session. */
  readonly date: string;
  /** State of the day. */
  readonly state: 'waiting' | 'running' | 'blocked' | 'done' | 'skipped' | 'missed';
  /** Reason why the day waits, is blocked, was skipped or was missed. */
  readonly reason: string | null;
  /** Scheduled time of the start. */
  readonly due_at: string;
  /** Deadline of the day. */
  readonly deadline_at: string | null;
  /** True if the day did not end before the deadline. */
  readonly is_late: boolean;
  /** Start of the first attempt. */
  readonly started_at: string | null;
  /** Time at which the day was done, skipped or missed. */
  readonly finished_at: string | null;
  /** Time at which the day resumes. Null if it has ended, and while it is running unless a decision requested another attempt. */
  readonly next_attempt_at: string | null;
  /** Number of times that its steps were performed. */
  readonly rounds: number;
  /** Version of the schedule that the day uses. */
  readonly version: number | null;
  /** Author of this version. Closes are published in the name of the author. */
  readonly author: string;
  /** Findings that people have accepted. */
  readonly waivers: readonly Waiver[];
  /** Indices that are held back. */
  readonly held: readonly HeldIndex[];
  /** Steps, in order. */
  readonly steps: readonly StepRecord[];
}

export interface ScheduleDaySummary {
  /** The schedule. */
  readonly schedule_id: string;
  /** Session. */
  readonly date: string;
  /** State of the day. */
  readonly state: 'waiting' | 'running' | 'blocked' | 'done' | 'skipped' | 'missed';
  /** Reason why the day waits, is blocked, was skipped or was missed. */
  readonly reason: string | null;
  /** Scheduled time of the start. */
  readonly due_at: string;
  /** Deadline of the day. */
  readonly deadline_at: string | null;
  /** True if the day did not end before the deadline. */
  readonly is_late: boolean;
  /** Start of the first attempt. */
  readonly started_at: string | null;
  /** Time at which the day was done, skipped or missed. */
  readonly finished_at: string | null;
  /** Time at which the day resumes. Null if it has ended, and while it is running unless a decision requested another attempt. */
  readonly next_attempt_at: string | null;
  /** Number of times that its steps were performed. */
  readonly rounds: number;
  /** Version of the schedule that the day uses. */
  readonly version: number | null;
  /** Author of this version. Closes are published in the name of the author. */
  readonly author: string;
  /** Findings that people have accepted. */
  readonly waivers: readonly Waiver[];
  /** Indices that are held back. */
  readonly held: readonly HeldIndex[];
  /** First step that is not done; null if all steps are done. */
  readonly step: 'refresh' | 'checks' | 'run' | 'compare' | 'publish' | 'export' | 'render' | 'deliver' | null;
}

export interface ScheduleDays {
  /** Newest first. */
  readonly days: readonly ScheduleDaySummary[];
  /** Next day of the schedule; null for a disabled schedule, and at the end of the calendar. */
  readonly next: {
    /** Session. */
    readonly date: string;
    /** Time at which the day starts. */
    readonly due_at: string;
  } | null;
}

/** Rebalances of an index around a date. They are computed on request and not stored. Dates are YYYY-MM-DD. */
export interface ScheduleView {
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** Date from which the response was computed. */
  readonly as_of: string;
  /** Exchange MIC of the calendar. */
  readonly calendar: string;
  /** Frequency of the rebalances of the index. */
  readonly frequency: string;
  /** Effective dates on or before as_of, newest first. */
  readonly recent: readonly string[];
  /** Effective dates after as_of up to lookahead_end, soonest first. */
  readonly upcoming: readonly string[];
  /** 366 days after as_of, or the last session of the calendar if that is earlier. */
  readonly lookahead_end: string;
  /** Decision date of each effective date; only for an index with an effective lag. */
  readonly announcements?: Readonly<Record<string, string>> | undefined;
}

export interface ScoreTerm {
  /** Name of a column or derived datapoint, an expression as text or as nodes, or an object with name, window, lag, aggregate and transform. */
  readonly field: string | DatapointInput | ExpressionNodeInput;
  /** Weight of the term in the average. */
  readonly weight?: number | undefined;
  /** End of the datapoint that is better. */
  readonly direction?: 'high' | 'low' | undefined;
  /** Limit on the absolute z-score. */
  readonly winsorise?: number | undefined;
}

/** Keeps securities that have been trading for a minimum time. */
export interface SeasoningFilterParams {
  /** Minimum number of sessions since the first price bar. Unit: sessions. */
  readonly sessions?: number | undefined;
  /** Treatment of a security without a value of the datapoint. In a ranking, an included security without a value is last. */
  readonly missing?: 'exclude' | 'include' | undefined;
}

export interface SeasoningFilterRule {
  /** Id of the rule, unique within the pipeline. */
  readonly id: string;
  readonly type: 'SeasoningFilter';
  /** Parameters of the type, by name. */
  readonly params?: SeasoningFilterParams | undefined;
  /** Parameters that are tried, in order, if the rule keeps too few securities. */
  readonly fallback?: readonly RuleFallback[] | undefined;
}

/** The level equals the level of a second source, a series of the store. */
export interface SecondSourceCheck {
  readonly check: 'second_source';
  /** Findings block the index (block), or are only reported (warn). Default: block. */
  readonly severity: 'block' | 'warn';
  /** Series by index. Indices that are not listed have no second source. */
  readonly series: Readonly<Record<string, string>>;
  /** Largest difference, in basis points of the level. */
  readonly tolerance_bps: number;
  /** Return variant of the series. */
  readonly variant: 'price' | 'total' | 'net';
}

/** The level equals the level of a second source, a series of the store. */
export interface SecondSourceCheckInput {
  readonly check: 'second_source';
  /** Findings block the index (block), or are only reported (warn). Default: block. */
  readonly severity?: 'block' | 'warn' | undefined;
  /** Series by index. Indices that are not listed have no second source. */
  readonly series: Readonly<Record<string, string>>;
  /** Largest difference, in basis points of the level. */
  readonly tolerance_bps?: number | undefined;
  /** Return variant of the series. */
  readonly variant?: 'price' | 'total' | 'net' | undefined;
}

export interface SensitivityRow {
  /** Id of the constraint in the request; empty if it has none. */
  readonly id: string;
  /** Position of the constraint in the request. */
  readonly index: number;
  /** Class name. */
  readonly type: string;
  /** Parameter that is relaxed, while all others are unchanged. */
  readonly parameter: string;
  /** Value in the run. */
  readonly from: number;
  /** Value after relaxing the parameter by one step. */
  readonly to: number;
  /** to - from. */
  readonly change: number;
  /** Change of objective_value if the problem is solved again with the other value. Null if the work limit for explanations of tail risk is reached. */
  readonly effect: number | null;
  /** Change of objective_value per unit of the parameter, for a small change of the parameter. */
  readonly shadow_price: number;
  /** Description of the effect, in the measure of the objective. */
  readonly sentence: string;
}

export interface SeriesCollection {
  /** Series by identifier. */
  readonly series: readonly ({
    /** Asset identifier. */
    readonly identifier: string;
    /** Display name. */
    readonly name: string | null;
    /** Currency of the values; null if not declared. */
    readonly currency: string | null;
    /** First date with a value. */
    readonly start: string;
    /** Last date with a value. */
    readonly end: string;
    /** Dates with a value. */
    readonly values: number;
  })[];
  /** Value of `after` for the next page; null on the last page. */
  readonly next: string | null;
}

/** Dated series. pandas reads it by pd.Series(**payload). */
export interface SeriesPayload {
  /** Dates YYYY-MM-DD, strictly ascending. */
  readonly index: readonly string[];
  /** One value per date. */
  readonly data: readonly (number | null)[];
  /** Name of the series. */
  readonly name: string | null;
}

export interface SessionChange {
  /** Day on which the calendar differs from its rules. */
  readonly date: string;
  /** `closed`: the day has no session. `open`: the day has a session with unusual hours, or is an additional session. */
  readonly session: 'closed' | 'open';
  /** Local time of a late opening. Default: the usual time. */
  readonly opens?: string | undefined;
  /** Local time of an early close. Default: the usual time. */
  readonly closes?: string | undefined;
  /** Reason for the change, including the source. */
  readonly reason: string;
}

export interface SftpTarget {
  readonly type: 'sftp';
  /** Name of the target, unique among the targets of the client. */
  readonly name: string;
  /** Tables whose files are sent to the target. `report` is a rendered report. Default: all files that the client can receive. */
  readonly tables: readonly string[] | null;
  /** Server, user and folder. The path begins at the root of the server; /~/ is the folder of the user. */
  readonly url: string;
  /** Fingerprint of the host key, as printed by `ssh-keygen -lf`. A server with another key is refused. */
  readonly host_key: string;
  /** Password or private key. */
  readonly secret: string | null;
  /** Path below the address: folders, and a name with {file} (the name of the file), {client}, {index}, {table}, {schedule} and {date:YYYYMMDD}. */
  readonly path: string;
  /** True writes a file NAME.sha256 after each file, in the format of sha256sum. */
  readonly checksum: boolean;
}

export interface SftpTargetInput {
  readonly type: 'sftp';
  /** Name of the target, unique among the targets of the client. */
  readonly name: string;
  /** Tables whose files are sent to the target. `report` is a rendered report. Default: all files that the client can receive. */
  readonly tables?: readonly string[] | null | undefined;
  /** Server, user and folder. The path begins at the root of the server; /~/ is the folder of the user. */
  readonly url: string;
  /** Fingerprint of the host key, as printed by `ssh-keygen -lf`. A server with another key is refused. */
  readonly host_key: string;
  /** Password or private key. */
  readonly secret?: string | null | undefined;
  /** Path below the address: folders, and a name with {file} (the name of the file), {client}, {index}, {table}, {schedule} and {date:YYYYMMDD}. */
  readonly path?: string | undefined;
  /** True writes a file NAME.sha256 after each file, in the format of sha256sum. */
  readonly checksum?: boolean | undefined;
}

export interface SharingRequest {
  /** Ids or names of keys, or `sub:` and the subject of a token. Empty: not shared. */
  readonly shared_with: readonly string[];
}

export interface ShockScenario {
  /** Display name. */
  readonly name: string;
  /** Shocks as returns. A held identifier or a group such as `SECTOR:Energy` applies directly. All other securities respond to a series or another identifier of the data by regression. A rate in percent per year is shocked by basis points, for example `{ "bps": 100 }`. */
  readonly shocks: Readonly<Record<string, number | {
    /** Change of the rate in basis points. */
    readonly bps: number;
  }>>;
  /** Number of sessions up to as_of for the estimate of the responses. */
  readonly regression_sessions: number;
}

export interface ShockScenarioInput {
  /** Display name. */
  readonly name: string;
  /** Shocks as returns. A held identifier or a group such as `SECTOR:Energy` applies directly. All other securities respond to a series or another identifier of the data by regression. A rate in percent per year is shocked by basis points, for example `{ "bps": 100 }`. */
  readonly shocks: Readonly<Record<string, number | {
    /** Change of the rate in basis points. */
    readonly bps: number;
  }>>;
  /** Number of sessions up to as_of for the estimate of the responses. */
  readonly regression_sessions?: number | undefined;
}

export interface SimulationJobStatus {
  /** {kind}:{id}, for example backtest:LARGE-100. */
  readonly job_id: string;
  readonly kind: 'simulate';
  /** Order in which waiting jobs start. */
  readonly priority: 'high' | 'normal' | 'low';
  /** pending -> running -> succeeded, failed or cancelled. Terminal states never change. */
  readonly status: 'pending' | 'running' | 'succeeded' | 'failed' | 'cancelled';
  /** Completed fraction: 0 while pending, exactly 1 after success. It never decreases during an attempt. */
  readonly progress: number;
  /** Current step. */
  readonly message: string;
  /** Error of the job; only if it failed. */
  readonly error: ErrorDetail | null;
  /** Time of the submission, ISO-8601 UTC with offset. */
  readonly created_at: string;
  /** Start of the current attempt. */
  readonly started_at: string | null;
  /** Time of the end, ISO-8601 UTC with offset; null while it has not ended. */
  readonly finished_at: string | null;
  /** Time of the last heartbeat of the running attempt. */
  readonly heartbeat_at: string | null;
  /** Number of starts, which is recorded before the work starts. */
  readonly attempt: number;
  /** Latest attempts in order, at most eleven. The last one is the current attempt. */
  readonly attempts: readonly JobAttempt[];
  /** Request body as it was accepted. */
  readonly request: unknown;
  /** SHA-256 of all inputs except the market. */
  readonly input_hash: string;
  /** X-Request-Id of the submission, which log lines of the job contain. Null if the service submitted the job. */
  readonly request_id: string | null;
  /** Trace of the submission, from its header traceparent. */
  readonly trace_id: string | null;
  /** Addresses that are notified when the job ends. */
  readonly callbacks: readonly JobCallback[];
  /** Result of the job, if it succeeded. Null if the run of a backtest was deleted. */
  readonly result: SimulationView | null;
}

export interface SimulationRequest {
  /** Method. `block_bootstrap`: blocks of consecutive returns of the run. `gaussian_factor`: independent normal returns with the mean of the run and the variance of the last weights in a statistical factor model. */
  readonly method?: 'block_bootstrap' | 'gaussian_factor' | undefined;
  /** Number of future sessions. */
  readonly horizon?: number | undefined;
  /** Number of paths. It determines the computing time and the memory (28 bytes per path). */
  readonly paths?: number | undefined;
  /** Number of sessions in a block, at most the number of returns of the run. Ignored by gaussian_factor. */
  readonly block?: number | undefined;
  /** Seed of the random numbers. Equal seeds give equal paths, on any machine and for any number of workers. */
  readonly seed?: number | undefined;
  /** Percentiles, as fractions of the paths. Duplicates are counted once. */
  readonly percentiles?: readonly number[] | undefined;
  /** Level threshold, as a multiple of the last level. */
  readonly level?: number | undefined;
  /** Number of principal components of the factor model. Ignored by block_bootstrap. */
  readonly factors?: number | undefined;
}

export interface SimulationView {
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** Method of drawing returns. */
  readonly method: 'block_bootstrap' | 'gaussian_factor';
  /** Sessions ahead. */
  readonly horizon: number;
  /** Number of paths. */
  readonly paths: number;
  /** Seed of the random numbers. Equal seeds give equal paths. */
  readonly seed: number;
  /** Number of returns of the run that the simulation uses. */
  readonly observations: number;
  /** First date of the run. */
  readonly observed_start: string;
  /** Last date of the run, which is the start of every path. */
  readonly observed_end: string;
  /** Mean return of a session. */
  readonly mean_return: number;
  /** Annualised volatility of the drawn returns. */
  readonly volatility: number;
  /** Fraction of the variance that the factors explain; null for the bootstrap. */
  readonly factor_share: number | null;
  /** Levels by date and percentile, 100 at the start, with an error of at most 0.6% of a standard deviation. */
  readonly levels: TableFrame;
  /** Last level divided by the first, less 1. */
  readonly total_return: Distribution;
  /** Largest drawdown, at most 0. */
  readonly max_drawdown: Distribution;
  /** Number of sessions of the longest period below a previous high. */
  readonly time_under_water: Distribution;
  /** Fraction of the paths that end or fall below the level. */
  readonly shortfall: {
    /** Last level as a multiple of the initial level. */
    readonly level: number;
    /** Fraction of the paths that end below the level. */
    readonly at_end: number;
    /** Fraction of the paths that are below the level after at least one session. */
    readonly at_any_time: number;
  };
  /** Precision of the levels of the paths: float32 on the tensorflow engine. */
  readonly precision: 'float64' | 'float32';
}

export interface SingleLadder {
  /** The caps apply if any weight is above this value. */
  readonly above: number;
  /** Maximum weight if the caps apply. */
  readonly to: number;
}

export interface SkippedCauses {
  /** The file could not be read, or is not JSON. */
  readonly unreadable: number;
  /** The JSON does not satisfy the schema of the document. */
  readonly invalid: number;
  /** The document has a newer format version than this engine can read. */
  readonly unsupported: number;
}

export interface SmallGroup {
  /** Index weight below which a group is small. Unit: fraction. */
  readonly below: number;
  /** Maximum weight of a small group, as a multiple of its index weight. */
  readonly multiple: number;
}

/** Value and bound of one side of a constraint at the solution. */
export interface SolvedConstraint {
  /** Label of the bound, as in the binding constraints. */
  readonly label: string;
  /** Id of the constraint in the request; empty if it has none. */
  readonly id: string;
  /** Position of the constraint in the request; null if the service added it. */
  readonly index: number | null;
  /** Class name. */
  readonly type: string;
  /** Bound; `eq` for an equality. */
  readonly side: 'lower' | 'upper' | 'eq';
  /** Unit of `value`, `limit` and `slack`. */
  readonly unit: 'fraction' | 'count' | 'value';
  /** Value of the solution. */
  readonly value: number;
  /** Bound of the value. */
  readonly limit: number;
  /** Distance from the value to the bound; 0 beyond a soft bound. */
  readonly slack: number;
  /** True if the bound is binding. */
  readonly binding: boolean;
}

/** One side of a constraint that includes the security. */
export interface SolvedRow {
  /** Id of the constraint in the request; empty if there is none. */
  readonly id: string;
  /** Position of the constraint; null for an implicit constraint. */
  readonly index: number | null;
  /** Class name. */
  readonly type: string;
  /** Human-readable name. */
  readonly label: string;
  /** Bound of the constraint: lower or upper; `eq` for an equality. */
  readonly side: 'lower' | 'upper' | 'eq';
  /** Kind of the object. */
  readonly kind: 'eq' | 'ineq';
  /** Unit of the figure. */
  readonly unit: 'fraction' | 'count' | 'value';
  /** Value of the constraint at the solved weights. */
  readonly value: number;
  /** Bound of this side. */
  readonly limit: number;
  /** Distance between value and bound. */
  readonly slack: number;
  /** True if the bound is binding. */
  readonly binding: boolean;
  /** Multiplier of the constraint: change of the objective per unit of the bound. */
  readonly shadow_price: number;
  /** Change of the value of the constraint per unit of the weight. Null if the constraint does not depend on the weight directly. */
  readonly coefficient: number | null;
  /** Contribution of the constraint to the derivative of the objective with respect to the weight. */
  readonly force: number;
}

export interface SqlColumn {
  /** Name of the column. */
  readonly name: string;
  /** Type of the column. `count`: a whole number of 32 bits, or 1 and 0 for true and false. */
  readonly type: 'date' | 'text' | 'number' | 'count';
}

export interface SqlRequest {
  /** One SELECT statement in the SQL of DuckDB. */
  readonly query: string;
  /** Format of the response. It replaces `Accept`. */
  readonly format?: 'json' | 'csv' | 'arrow' | 'parquet' | undefined;
}

export interface SqlResult {
  /** Columns of the result. */
  readonly columns: readonly SqlColumn[];
  /** Rows with one value per column; dates are YYYY-MM-DD. */
  readonly data: readonly (readonly (string | number | null)[])[];
  /** Number of rows. */
  readonly rows: number;
  /** True if rows beyond 1000000 were omitted. */
  readonly truncated: boolean;
}

/** A security that a rebalance traded at the price of an earlier session. */
export interface StaleFillPayload {
  /** Asset identifier. */
  readonly identifier: string;
  /** Day of the price of the trade. */
  readonly last_bar: string;
  /** Number of sessions of the exchange since that day. */
  readonly sessions_old: number;
}

export interface StaleState {
  /** True if the index, or a document that it uses, has changed since the run. */
  readonly definition: boolean;
  /** True if the served data has changed since the run. */
  readonly data: boolean;
  /** True if the engine has a version with different results. */
  readonly engine: boolean;
  /** Causes, one sentence each. */
  readonly reasons: readonly string[];
  /** Store of the run, if another store is served; otherwise null. */
  readonly store_id: string | null;
}

/** Prices of constituents change. A price that is equal on many sessions is suspect. */
export interface StalenessCheck {
  readonly check: 'staleness';
  /** Findings block the index (block), or are only reported (warn). Default: warn. */
  readonly severity: 'block' | 'warn';
  /** Number of sessions with the same price that is reported. */
  readonly sessions: number;
}

/** Prices of constituents change. A price that is equal on many sessions is suspect. */
export interface StalenessCheckInput {
  readonly check: 'staleness';
  /** Findings block the index (block), or are only reported (warn). Default: warn. */
  readonly severity?: 'block' | 'warn' | undefined;
  /** Number of sessions with the same price that is reported. */
  readonly sessions?: number | undefined;
}

export interface StatGridBlock {
  readonly kind: 'stat_grid';
  /** Title that is printed above the block. */
  readonly title: string | null;
  /** Index (or strategy) whose latest run the block shows. */
  readonly index_id: string | null;
  /** Width of the block. Two consecutive half blocks are placed next to each other. */
  readonly width: 'full' | 'half';
  /** Figures, in the order in which they are printed. Default: the figures of every run; tracking figures unless the index is an overlay; tracking error to the parent for a derived index; exposures for a run with short positions. There is no default if `values` is present. */
  readonly stats: readonly ('total_return' | 'month_to_date' | 'year_to_date' | 'annualised_return' | 'volatility' | 'sharpe_ratio' | 'max_drawdown' | 'tracking_error' | 'tracking_difference' | 'parent_tracking_error' | 'forecast_tracking_error' | 'constituents' | 'effective_assets' | 'largest' | 'long_exposure' | 'short_exposure' | 'gross_exposure' | 'net_exposure' | 'transaction_cost')[] | null;
  /** Number of figures per row. */
  readonly columns: number;
  /** Texts by label, which are printed after the figures. */
  readonly values: Readonly<Record<string, string>> | null;
}

export interface StatGridBlockInput {
  readonly kind: 'stat_grid';
  /** Title that is printed above the block. */
  readonly title?: string | null | undefined;
  /** Index (or strategy) whose latest run the block shows. */
  readonly index_id?: string | null | undefined;
  /** Width of the block. Two consecutive half blocks are placed next to each other. */
  readonly width?: 'full' | 'half' | undefined;
  /** Figures, in the order in which they are printed. Default: the figures of every run; tracking figures unless the index is an overlay; tracking error to the parent for a derived index; exposures for a run with short positions. There is no default if `values` is present. */
  readonly stats?: readonly ('total_return' | 'month_to_date' | 'year_to_date' | 'annualised_return' | 'volatility' | 'sharpe_ratio' | 'max_drawdown' | 'tracking_error' | 'tracking_difference' | 'parent_tracking_error' | 'forecast_tracking_error' | 'constituents' | 'effective_assets' | 'largest' | 'long_exposure' | 'short_exposure' | 'gross_exposure' | 'net_exposure' | 'transaction_cost')[] | null | undefined;
  /** Number of figures per row. */
  readonly columns?: number | undefined;
  /** Texts by label, which are printed after the figures. */
  readonly values?: Readonly<Record<string, string>> | null | undefined;
}

export interface StepItem {
  /** Index, file, or file and recipient. */
  readonly key: string;
  /** Index of the result; null for the whole family. */
  readonly index_id: string | null;
  /** Result so far. */
  readonly state: 'waiting' | 'blocked' | 'failed' | 'done';
  /** Error code of a failed or blocked result. */
  readonly code: string | null;
  /** Description of the action, or reason why it was not performed. */
  readonly message: string;
  /** Time of the result. */
  readonly at: string;
  /** Job that performs the action. */
  readonly job_id: string | null;
  /** File that was written. */
  readonly file: MadeFile | null;
  /** Further details of the result. For a finding: `check`, `identifier`, `severity`, `measure` (value, limit, unit); for a price move `evidence` (previous_date, previous_close, close, weight); and, if it was accepted, `waived_by` and `reason`. */
  readonly detail: Readonly<Record<string, unknown>> | null;
}

export interface StepLogLine {
  /** Time of the line. */
  readonly at: string;
  /** Message in one sentence. */
  readonly message: string;
}

export interface StepRecord {
  /** Kind of the step. */
  readonly type: 'refresh' | 'checks' | 'run' | 'compare' | 'publish' | 'export' | 'render' | 'deliver';
  /** State of the step. */
  readonly state: 'pending' | 'running' | 'waiting' | 'failed' | 'done';
  /** Number of attempts that were started. */
  readonly attempts: number;
  /** Start of the first attempt. */
  readonly started_at: string | null;
  /** End of the last attempt. */
  readonly finished_at: string | null;
  /** Duration of all attempts, in ms. */
  readonly duration_ms: number;
  /** Description of the result in a sentence. */
  readonly message: string;
  /** Error code of a failed step. */
  readonly code: string | null;
  /** Last 100 lines of the log of the step. */
  readonly log: readonly StepLogLine[];
  /** Indices that the step holds back, including the indices that depend on them. The state of such a step can be done. */
  readonly held: number;
  /** Indices of the schedule. */
  readonly indices: number;
  /** Results by index or file. */
  readonly items: readonly StepItem[];
}

export interface StoreFreshness {
  /** The data store. */
  readonly store_id: string;
  /** Calendar of an index that reads the store. */
  readonly calendar: string;
  /** Last date of the data, YYYY-MM-DD. */
  readonly data_through: string;
  /** Newest session of the calendar before the current day of the exchange, YYYY-MM-DD. */
  readonly latest_session: string;
  /** Sessions after the last date of the data. */
  readonly sessions_behind: number;
}

export interface StoredRun {
  /** Id of the run, accepted by every view of a run. */
  readonly run_id: string;
  /** Time of the run, ISO-8601 UTC with offset. */
  readonly run_at: string | null;
  /** SHA-256 of all inputs of the run. */
  readonly run_hash: string;
  /** First date. */
  readonly start: string;
  /** Last date. */
  readonly end: string;
  /** Version of the index or strategy; null for runs of earlier versions. */
  readonly index_version: number | null;
  /** The data store. */
  readonly store_id: string | null;
  /** Version of the data; null if unknown. */
  readonly store_version: number | null;
  /** SHA-256 of the data that was read. */
  readonly store_content_hash: string;
  /** Version of the engine that computed the result. */
  readonly engine_version: string;
  /** The request, with its defaults. */
  readonly request: unknown;
  /** Figures of the run; null if its files cannot be read. */
  readonly metrics: BacktestMetrics | null;
  /** True if closes of the run were published. Such a run is always kept. */
  readonly published: boolean;
}

export interface StoredRuns {
  /** Newest first. */
  readonly runs: readonly StoredRun[];
  /** Total number of stored runs, including runs that are not listed. */
  readonly total: number;
  /** True if closes of the index were ever published, including closes of runs that are no longer stored. */
  readonly has_published?: boolean | undefined;
  /** Number of stored documents that are omitted because they cannot be read. */
  readonly skipped: number;
  /** Number of omitted documents by cause. */
  readonly skipped_causes: SkippedCauses;
}

export interface StoredStrategy {
  /** The stored strategy. */
  readonly strategy: StrategyDocument;
  /** Broken references of the strategy, for example to a deleted index. */
  readonly problems: readonly Finding[];
  /** True if a backtest record is stored. */
  readonly has_run: boolean;
  /** Time of the backtest record. */
  readonly run_at: string | null;
}

export interface StrategyCollection {
  /** Stored strategies by id. */
  readonly strategies: readonly StoredStrategy[];
  /** Number of stored documents that are omitted because they cannot be read. */
  readonly skipped: number;
  /** Number of omitted documents by cause. */
  readonly skipped_causes: SkippedCauses;
}

export interface StrategyDeletion {
  /** The strategy. */
  readonly strategy_id: string;
  /** True if a stored record was deleted too. */
  readonly backtest_record_deleted: boolean;
  /** Number of deleted job records and stored results. */
  readonly backtest_results_deleted: number;
}

export interface StrategyDocument {
  /** Id of the strategy. It must differ from all index ids, because runs and views of both have the same paths. */
  readonly id: string;
  /** Display name. */
  readonly name: string;
  /** Free text. */
  readonly description: string | null;
  /** Index that the strategy follows. */
  readonly index_id: string;
  /** Benchmark: a second comparison in addition to the tracked index. */
  readonly benchmark: BenchmarkRef | null;
  /** First day. Default: the base date of the index. Earlier days are not possible. */
  readonly start: string | null;
  /** Last day. Default: the last day of the data. */
  readonly end: string | null;
  /** Initial value of the portfolio, in the index currency. */
  readonly initial_capital: number;
  /** Cost of a trade in basis points of its notional. */
  readonly transaction_cost_bps: number;
  /** Constraint set that is applied to the targets at each rebalance. */
  readonly constraint_set_id: string | null;
  /** Schedule of the strategy on the calendar of the index. Null uses the rebalance dates of the index. Targets are the weights of the index at the close of the date, so effective_lag has no effect. */
  readonly rebalance: RebalanceSpec | null;
  /** After the first purchase, a security is traded only if its weight differs from its target by more than this fraction. Null: always traded. */
  readonly drift_tolerance: number | null;
  /** Fraction that is invested at each rebalance. The rest is cash without interest. */
  readonly exposure: number;
}

export interface StrategyDocumentInput {
  /** Id of the strategy. It must differ from all index ids, because runs and views of both have the same paths. */
  readonly id: string;
  /** Display name. */
  readonly name: string;
  /** Free text. */
  readonly description?: string | null | undefined;
  /** Index that the strategy follows. */
  readonly index_id: string;
  /** Benchmark: a second comparison in addition to the tracked index. */
  readonly benchmark?: BenchmarkRefInput | null | undefined;
  /** First day. Default: the base date of the index. Earlier days are not possible. */
  readonly start?: string | null | undefined;
  /** Last day. Default: the last day of the data. */
  readonly end?: string | null | undefined;
  /** Initial value of the portfolio, in the index currency. */
  readonly initial_capital?: number | undefined;
  /** Cost of a trade in basis points of its notional. */
  readonly transaction_cost_bps?: number | undefined;
  /** Constraint set that is applied to the targets at each rebalance. */
  readonly constraint_set_id?: string | null | undefined;
  /** Schedule of the strategy on the calendar of the index. Null uses the rebalance dates of the index. Targets are the weights of the index at the close of the date, so effective_lag has no effect. */
  readonly rebalance?: RebalanceSpecInput | null | undefined;
  /** After the first purchase, a security is traded only if its weight differs from its target by more than this fraction. Null: always traded. */
  readonly drift_tolerance?: number | null | undefined;
  /** Fraction that is invested at each rebalance. The rest is cash without interest. */
  readonly exposure?: number | undefined;
}

/** Figures of an optimisation, as in its result. */
export interface StudyFigures {
  /** Date of the rebalance in force. */
  readonly rebalance_date: string;
  /** True if the solver reached its tolerances. */
  readonly converged: boolean;
  /** True if the selection of securities is not proven optimal. */
  readonly heuristic: boolean;
  /** Number of positive weights. */
  readonly holdings: number;
  /** Objective in its measure, including costs. */
  readonly objective_value: number;
  /** Distance between the value and its bound, relative to the value. */
  readonly gap: number | null;
  /** Annualised expected return before costs; null without expected returns. */
  readonly expected_return: number | null;
  /** Annualised standard deviation of returns. */
  readonly volatility: number;
  /** Annualised standard deviation of return differences. */
  readonly tracking_error: number;
  /** One-way turnover: half the sum of the absolute changes. */
  readonly turnover: number;
  /** Trading costs, linear and market impact. In a result, their sum as a fraction of value. */
  readonly costs: number | null;
}

export interface StudyJobStatus {
  /** {kind}:{id}, for example backtest:LARGE-100. */
  readonly job_id: string;
  readonly kind: 'study';
  /** Order in which waiting jobs start. */
  readonly priority: 'high' | 'normal' | 'low';
  /** pending -> running -> succeeded, failed or cancelled. Terminal states never change. */
  readonly status: 'pending' | 'running' | 'succeeded' | 'failed' | 'cancelled';
  /** Completed fraction: 0 while pending, exactly 1 after success. It never decreases during an attempt. */
  readonly progress: number;
  /** Current step. */
  readonly message: string;
  /** Error of the job; only if it failed. */
  readonly error: ErrorDetail | null;
  /** Time of the submission, ISO-8601 UTC with offset. */
  readonly created_at: string;
  /** Start of the current attempt. */
  readonly started_at: string | null;
  /** Time of the end, ISO-8601 UTC with offset; null while it has not ended. */
  readonly finished_at: string | null;
  /** Time of the last heartbeat of the running attempt. */
  readonly heartbeat_at: string | null;
  /** Number of starts, which is recorded before the work starts. */
  readonly attempt: number;
  /** Latest attempts in order, at most eleven. The last one is the current attempt. */
  readonly attempts: readonly JobAttempt[];
  /** Request body as it was accepted. */
  readonly request: unknown;
  /** SHA-256 of all inputs except the market. */
  readonly input_hash: string;
  /** X-Request-Id of the submission, which log lines of the job contain. Null if the service submitted the job. */
  readonly request_id: string | null;
  /** Trace of the submission, from its header traceparent. */
  readonly trace_id: string | null;
  /** Addresses that are notified when the job ends. */
  readonly callbacks: readonly JobCallback[];
  /** Result of the job, if it succeeded. Null if the run of a backtest was deleted. */
  readonly result: StudyView | null;
}

export interface StudyRequest {
  /** Id of the study. Default: a generated id. */
  readonly study_id?: string | null | undefined;
  /** Optimisations, at most 10000. Each has the form of POST /optimise/runs. */
  readonly runs: readonly OptimisationRunRequest[];
}

export interface StudyRow {
  /** Position in the request, from 0. */
  readonly position: number;
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** The constraint set. */
  readonly constraint_set_id: string;
  /** `solved`: see `run_id`. `refused`: see `error`. */
  readonly outcome: 'solved' | 'refused';
  /** Id of the result, for GET /optimise/runs/{run_id}. Null if the optimisation was refused. */
  readonly run_id: string | null;
  /** Figures of the optimisation; null if it was refused. */
  readonly figures: StudyFigures | null;
  /** Error of the optimisation; only if it was refused. */
  readonly error: ErrorDetail | null;
}

export interface StudyRows {
  /** The study of optimisations. */
  readonly study_id: string;
  /** Rows of all blocks. */
  readonly count: number;
  /** Number of the block, from 0. */
  readonly block: number;
  /** Number of blocks. */
  readonly blocks: number;
  /** Entries, in the order of the request. */
  readonly rows: readonly StudyRow[];
}

export interface StudyView {
  /** The study of optimisations. */
  readonly study_id: string;
  /** Number of optimisations. */
  readonly runs: number;
  /** Number of optimisations with a result. */
  readonly solved: number;
  /** Number of optimisations with an error. */
  readonly refused: number;
  /** Rows in the order of the request: the first 2000. GET /optimise/studies/{study_id}/rows returns all rows in blocks. */
  readonly rows: readonly StudyRow[];
  /** Version of the engine that computed the result. */
  readonly engine_version: string;
}

export interface SweepFan {
  /** Dates, evenly spread over the common dates of the variants. */
  readonly index: readonly string[];
  /** Number of variants used for the quantiles: all variants, or a thousand evenly spread ones. */
  readonly variants: number;
  /** Quantiles of the levels on each date, from the lowest to the highest. */
  readonly quantiles: readonly {
    /** Fraction of the variants at or below the level. */
    readonly share: number;
    /** Levels by date, 100 on the first date. */
    readonly data: readonly number[];
  }[];
  /** Levels of the variant that is ranked first. */
  readonly first: readonly number[] | null;
  /** Levels of each variant; empty with more than 8 variants. Absent in sweeps of earlier versions. */
  readonly levels?: readonly {
    /** Position of the variant. */
    readonly variant: number;
    /** Levels by date, 100 on the first date. */
    readonly data: readonly number[];
  }[] | undefined;
}

export interface SweepFoldChoice {
  /** Groups of the selection, by position. */
  readonly train: readonly number[];
  /** Groups of the test. */
  readonly test: readonly number[];
  /** Position of the selected variant. */
  readonly variant: number;
  /** Metric of the variant on the groups of the selection. */
  readonly in_sample: number;
  /** Metric of the variant on the groups of the test. */
  readonly out_of_sample: number;
  /** Rank of the variant among all trials on the test, 1 for the best. Equal trials have the better rank. */
  readonly rank: number;
}

export type SweepFolds = CombinatorialFolds | WalkForwardFolds;

/** Cross-validation of the selection, as described by López de Prado (2018), chapters 7 and 12. Percentiles are 5, 25, 50, 75 and 95%. The paths do not include the cost of changing from one variant to another. */
export interface SweepFoldsView {
  /** Division of time into groups. */
  readonly method: 'combinatorial' | 'walk_forward';
  /** Metric of the selection. */
  readonly select_by: 'sharpe_ratio' | 'annualised_return' | 'max_drawdown' | 'volatility';
  /** First and last date with a return, for each group. */
  readonly groups: readonly {
    /** First date. */
    readonly start: string;
    /** Last date. */
    readonly end: string;
  }[];
  /** Number of returns of each variant. The oldest returns are omitted so that the groups have equal length. */
  readonly observations: number;
  /** Number of sessions of the sample excluded before a test. */
  readonly left_before: number;
  /** Number of sessions of the sample excluded after a test, including the embargo. */
  readonly left_after: number;
  /** One entry per split. */
  readonly choices: readonly SweepFoldChoice[];
  /** Selected variants, beginning with the most frequent. */
  readonly chosen: readonly {
    /** Position of the selected variant. */
    readonly variant: number;
    /** Number of splits that selected the variant. */
    readonly splits: number;
  }[];
  /** Metric of the selected variants on their samples, over the splits. */
  readonly in_sample: Distribution;
  /** Metric of the selected variants on their tests, over the splits. */
  readonly out_of_sample: Distribution;
  /** Metrics of the joined out-of-sample returns. Each group is tested once. */
  readonly paths: readonly {
    /** Compound annual return, with 252 sessions per year, or 365 if the calendar trades every day. */
    readonly annualised_return: number;
    /** Largest drawdown, at most 0. */
    readonly max_drawdown: number;
    /** Annualised Sharpe ratio with a risk-free rate of 0. */
    readonly sharpe_ratio: number;
    /** Total return over the test groups. */
    readonly total_return: number;
    /** Annualised standard deviation, ddof 1. */
    readonly volatility: number;
  }[];
  /** Distribution of each metric over the paths. */
  readonly over_paths: {
    /** Compound annual return, with 252 sessions per year, or 365 if the calendar trades every day. */
    readonly annualised_return: Distribution;
    /** Largest drawdown, at most 0. */
    readonly max_drawdown: Distribution;
    /** Annualised Sharpe ratio with a risk-free rate of 0. */
    readonly sharpe_ratio: Distribution;
    /** Total return over the test groups. */
    readonly total_return: Distribution;
    /** Annualised standard deviation, ddof 1. */
    readonly volatility: Distribution;
  };
  /** Fraction of the paths with a loss. */
  readonly probability_of_loss: number;
}

export interface SweepJobStatus {
  /** {kind}:{id}, for example backtest:LARGE-100. */
  readonly job_id: string;
  readonly kind: 'sweep';
  /** Order in which waiting jobs start. */
  readonly priority: 'high' | 'normal' | 'low';
  /** pending -> running -> succeeded, failed or cancelled. Terminal states never change. */
  readonly status: 'pending' | 'running' | 'succeeded' | 'failed' | 'cancelled';
  /** Completed fraction: 0 while pending, exactly 1 after success. It never decreases during an attempt. */
  readonly progress: number;
  /** Current step. */
  readonly message: string;
  /** Error of the job; only if it failed. */
  readonly error: ErrorDetail | null;
  /** Time of the submission, ISO-8601 UTC with offset. */
  readonly created_at: string;
  /** Start of the current attempt. */
  readonly started_at: string | null;
  /** Time of the end, ISO-8601 UTC with offset; null while it has not ended. */
  readonly finished_at: string | null;
  /** Time of the last heartbeat of the running attempt. */
  readonly heartbeat_at: string | null;
  /** Number of starts, which is recorded before the work starts. */
  readonly attempt: number;
  /** Latest attempts in order, at most eleven. The last one is the current attempt. */
  readonly attempts: readonly JobAttempt[];
  /** Request body as it was accepted. */
  readonly request: unknown;
  /** SHA-256 of all inputs except the market. */
  readonly input_hash: string;
  /** X-Request-Id of the submission, which log lines of the job contain. Null if the service submitted the job. */
  readonly request_id: string | null;
  /** Trace of the submission, from its header traceparent. */
  readonly trace_id: string | null;
  /** Addresses that are notified when the job ends. */
  readonly callbacks: readonly JobCallback[];
  /** Result of the job, if it succeeded. Null if the run of a backtest was deleted. */
  readonly result: SweepView | null;
}

export interface SweepMap {
  /** A cell with several variants shows the variant with the best rank, for every metric. */
  readonly aggregation: 'first_by_rank';
  /** Description of the rule. */
  readonly sentence: string;
  /** Varied parameters with their values. If all but two parameters are fixed, a map has one variant per cell. */
  readonly parameters: readonly {
    /** JSON pointer of the parameter, as in `patch`. */
    readonly pointer: string;
    /** Values of the parameter, in the order of the request. */
    readonly values: readonly unknown[];
  }[];
}

/** Combinatorially symmetric cross-validation, as defined by Bailey, Borwein, López de Prado and Zhu (2016). */
export interface SweepOverfitting {
  /** Fraction of the selections in which the selected variant is not better than the median out of sample. */
  readonly probability: number;
  /** Probability of a random choice: one half, and more for an odd number of trials, whose middle one is the median. Absent in sweeps of earlier versions. */
  readonly chance_level?: number | undefined;
  /** `overfit`: the probability is above the chance level. `near_chance`: it is at most one standard deviation below. Absent in sweeps of earlier versions. */
  readonly rating?: 'better_than_chance' | 'near_chance' | 'overfit' | undefined;
  /** Fraction of the selections in which the selected variant has a negative Sharpe ratio out of sample. */
  readonly probability_of_loss: number;
  /** Median logit of the relative rank out of sample. Below 0, selected variants tend to rank below the median. */
  readonly median_logit: number;
  /** Number of selections: each half of the blocks of time is compared with the other half. */
  readonly combinations: number;
  /** Number of blocks of time. */
  readonly partitions: number;
  /** Number of returns on common dates. The oldest returns are omitted so that the blocks have equal length. */
  readonly observations: number;
}

/** Exactly one of index_id and document, and exactly one of grid and patches, are required. */
export interface SweepRequest {
  /** Id of the sweep, which is part of the id of the job. Default: a generated id. */
  readonly sweep_id?: string | null | undefined;
  /** Version of the data: a number, or the newest version known at a time (for a date: its end, in UTC). */
  readonly as_known_on?: number | string | undefined;
  /** Id of a stored index that is the base. */
  readonly index_id?: string | null | undefined;
  /** IndexDocument that is the base, instead of index_id. */
  readonly document?: Readonly<Record<string, unknown>> | null | undefined;
  /** Settings of the backtests. */
  readonly request?: SweepTerms | undefined;
  /** Settings of a strategy that follows the index. Default: the index is held. */
  readonly strategy?: SweepStrategy | null | undefined;
  /** Values by JSON pointer. Every combination is a variant, and the last pointer varies fastest. Pointers begin with /document, /request or /strategy. */
  readonly grid?: Readonly<Record<string, readonly unknown[]>> | null | undefined;
  /** List of variants, each with values by JSON pointer, instead of grid. */
  readonly patches?: readonly Readonly<Record<string, unknown>>[] | null | undefined;
  /** Metric of the ranking. Equal variants keep their order. */
  readonly rank_by?: 'sharpe_ratio' | 'total_return' | 'annualised_return' | 'max_drawdown' | 'volatility' | 'tracking_error' | 'tracking_difference' | undefined;
  /** Number of blocks of time into which the estimate of overfitting divides the returns. Every half of the blocks selects one variant. */
  readonly partitions?: number | undefined;
  /** Splits of time that test the selection out of sample; null for no test. */
  readonly folds?: SweepFolds | null | undefined;
}

export interface SweepRow {
  /** Rank of the variant; null for a variant that was refused. */
  readonly rank: number | null;
  /** Position among the requested variants. */
  readonly variant: number;
  /** Changes of the variant, by JSON pointer. */
  readonly patch: Readonly<Record<string, unknown>>;
  /** Figures of the variant. They are identical, bit for bit, to the figures of a single run. */
  readonly metrics: BacktestMetrics | null;
  /** Transaction costs paid. */
  readonly total_costs: number | null;
  /** First date. */
  readonly start: string | null;
  /** Last date. */
  readonly end: string | null;
  /** Dates of the run. */
  readonly observations: number | null;
  /** Probability that the true Sharpe ratio exceeds the best Sharpe ratio expected among all trials if all true ratios were zero. */
  readonly deflated_sharpe_ratio: number | null;
  /** Reason why the variant was refused, as for a single run. */
  readonly error: ErrorDetail | null;
}

export interface SweepRows {
  /** The sweep. */
  readonly sweep_id: string;
  /** Rows of all blocks: variants of the sweep. */
  readonly count: number;
  /** Number of the block, from 0. */
  readonly block: number;
  /** Number of blocks. */
  readonly blocks: number;
  /** Rows by rank, with refused variants last. */
  readonly rows: readonly SweepRow[];
}

export interface SweepSelection {
  /** Number of variants that ran. Variants with identical levels are counted once. Trials are treated as independent, so the deflation is strict for similar variants. */
  readonly trials: number;
  /** Sharpe ratio of the variant that is ranked first, per session. All ratios in this object are per session. */
  readonly sharpe_ratio: number;
  /** Skewness of the returns of the best variant. */
  readonly skewness: number;
  /** Kurtosis of the returns; 3 for normal returns. */
  readonly kurtosis: number;
  /** Number of returns of the variant. */
  readonly observations: number;
  /** Variance of the Sharpe ratios of the trials. */
  readonly sharpe_variance: number;
  /** Expected Sharpe ratio of the best of this number of trials if all true ratios are zero. */
  readonly expected_maximum_sharpe_ratio: number;
  /** Probability that the true Sharpe ratio exceeds the best Sharpe ratio expected among all trials if all true ratios were zero. */
  readonly deflated_sharpe_ratio: number | null;
}

export interface SweepStrategy {
  /** Schedule of the strategy on the calendar of the index. Null uses the rebalance dates of the index. Targets are the weights of the index at the close of the date, so effective_lag has no effect. */
  readonly rebalance?: RebalanceSpecInput | null | undefined;
  /** After the first purchase, a security is traded only if its weight differs from its target by more than this fraction. Null: always traded. */
  readonly drift_tolerance?: number | null | undefined;
  /** Fraction that is invested at each rebalance. The rest is cash without interest. */
  readonly exposure?: number | undefined;
}

export interface SweepTerms {
  /** First day. Default: the base date of the index. Earlier days are not possible. */
  readonly start?: string | null | undefined;
  /** Last day. Default: the last day of the data. */
  readonly end?: string | null | undefined;
  /** Initial value of the portfolio, in the index currency. */
  readonly initial_capital?: number | undefined;
  /** Cost of a trade in basis points of its notional. */
  readonly transaction_cost_bps?: number | undefined;
  /** Each rebalance uses the newest version of the data known at the end of its decision date. Levels are computed from the data of the run. */
  readonly as_known?: 'decision' | undefined;
  /** Data store of the run, for an index without a store. Default: the active store. */
  readonly store_id?: string | undefined;
}

export interface SweepView {
  /** The sweep. */
  readonly sweep_id: string;
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** Number of requested variants. */
  readonly variants: number;
  /** Number of variants that could not be run. */
  readonly refused: number;
  /** Metric of the ranking. */
  readonly rank_by: 'sharpe_ratio' | 'total_return' | 'annualised_return' | 'max_drawdown' | 'volatility' | 'tracking_error' | 'tracking_difference';
  /** Rows by rank, with refused variants last: the first 2000. GET /analytics/sweeps/{sweep_id}/rows returns all rows in blocks. */
  readonly rows: readonly SweepRow[];
  /** Selection bias of the best variant; null if every variant was refused. */
  readonly selection: SweepSelection | null;
  /** Probability of overfitting. Null with fewer than two trials, or with fewer than two returns per block. */
  readonly overfitting: SweepOverfitting | null;
  /** Out-of-sample performance of the selection. Null without `folds`, or if there are too few returns; see `folds_shortage`. Absent in sweeps of earlier versions. */
  readonly folds?: SweepFoldsView | null | undefined;
  /** Reason why the requested `folds` are null: there are too few returns. Null otherwise; absent in sweeps of earlier versions. */
  readonly folds_shortage?: {
    /** Number of common returns of the variants. */
    readonly observations: number;
    /** Number of returns that the folds need. */
    readonly needed: number;
  } | null | undefined;
  /** Lists of positions of variants with identical levels. Each list is counted as one trial. Absent in sweeps of earlier versions. */
  readonly identical_variants?: readonly (readonly number[])[] | undefined;
  /** Levels of the variants over time. Null with fewer than two common dates; absent in sweeps of earlier versions. */
  readonly fan?: SweepFan | null | undefined;
  /** Rule for maps of some of the parameters. Absent in sweeps of earlier versions. */
  readonly map?: SweepMap | undefined;
  /** Conclusions from the figures, one sentence each. Absent in sweeps of earlier versions. */
  readonly verdict?: readonly string[] | undefined;
  /** SHA-256 of the data that was read. */
  readonly store_content_hash: string;
  /** Version of the engine that computed the result. */
  readonly engine_version: string;
}

export interface SyncJobStatus {
  /** {kind}:{id}, for example backtest:LARGE-100. */
  readonly job_id: string;
  readonly kind: 'sync';
  /** Order in which waiting jobs start. */
  readonly priority: 'high' | 'normal' | 'low';
  /** pending -> running -> succeeded, failed or cancelled. Terminal states never change. */
  readonly status: 'pending' | 'running' | 'succeeded' | 'failed' | 'cancelled';
  /** Completed fraction: 0 while pending, exactly 1 after success. It never decreases during an attempt. */
  readonly progress: number;
  /** Current step. */
  readonly message: string;
  /** Error of the job; only if it failed. */
  readonly error: ErrorDetail | null;
  /** Time of the submission, ISO-8601 UTC with offset. */
  readonly created_at: string;
  /** Start of the current attempt. */
  readonly started_at: string | null;
  /** Time of the end, ISO-8601 UTC with offset; null while it has not ended. */
  readonly finished_at: string | null;
  /** Time of the last heartbeat of the running attempt. */
  readonly heartbeat_at: string | null;
  /** Number of starts, which is recorded before the work starts. */
  readonly attempt: number;
  /** Latest attempts in order, at most eleven. The last one is the current attempt. */
  readonly attempts: readonly JobAttempt[];
  /** Request body as it was accepted. */
  readonly request: unknown;
  /** SHA-256 of all inputs except the market. */
  readonly input_hash: string;
  /** X-Request-Id of the submission, which log lines of the job contain. Null if the service submitted the job. */
  readonly request_id: string | null;
  /** Trace of the submission, from its header traceparent. */
  readonly trace_id: string | null;
  /** Addresses that are notified when the job ends. */
  readonly callbacks: readonly JobCallback[];
  /** Result of the job, if it succeeded. Null if the run of a backtest was deleted. */
  readonly result: RefreshResult | null;
}

export interface TableBlock {
  readonly kind: 'table';
  /** Title that is printed above the block. */
  readonly title: string | null;
  /** Index (or strategy) whose latest run the block shows. */
  readonly index_id: string | null;
  /** Width of the block. Two consecutive half blocks are placed next to each other. */
  readonly width: 'full' | 'half';
  /** Source of the rows. `constituents`: holdings on the last date, beginning with the largest; `rebalances`: latest rebalances, with securities added and removed, turnover, cap and redistributed weight; `annual_returns`: return of each calendar year; `monthly_returns`: return of each month, one row per year; `attribution`: contribution of each security to the return of the portfolio, beginning with the largest; `risk`: contribution of each holding to the volatility, beginning with the largest; `exposures`: weight of each sector at the end of each year, beginning with the largest; `limits`: published concentration rules: headroom, sessions in breach and number of breaches; `breaches`: breaches of the rule that triggers rebalances, latest first; empty if the index has no such rule; `overlay_parts`: contribution of the underlying securities and of the parts of an overlay; empty for other indices; `dividend_points`: ordinary dividends in index points, latest years first; empty if there are none; `pack`: orders of the latest rebalance for a portfolio of `aum` that held the index, beginning with the largest; empty for an overlay; `scenarios`: holdings of the last date in past windows and under shocks, as defined in `scenarios`; `literal`: the rows of `frame`. */
  readonly source: 'constituents' | 'rebalances' | 'annual_returns' | 'monthly_returns' | 'attribution' | 'risk' | 'exposures' | 'limits' | 'breaches' | 'overlay_parts' | 'dividend_points' | 'pack' | 'scenarios' | 'literal';
  /** Maximum number of rows: the largest holdings, the latest rebalances, or the latest years. A single further security is shown; several further securities are added up. */
  readonly limit: number;
  /** Value of the portfolio of a table of orders, in the currency of the index. */
  readonly aum: number;
  /** Past windows and shocks of a table of scenarios, as in a request for scenarios. */
  readonly scenarios: readonly (WindowScenario | ShockScenario)[] | null;
  /** Rows of a literal table. */
  readonly frame: LiteralTable | null;
}

export interface TableBlockInput {
  readonly kind: 'table';
  /** Title that is printed above the block. */
  readonly title?: string | null | undefined;
  /** Index (or strategy) whose latest run the block shows. */
  readonly index_id?: string | null | undefined;
  /** Width of the block. Two consecutive half blocks are placed next to each other. */
  readonly width?: 'full' | 'half' | undefined;
  /** Source of the rows. `constituents`: holdings on the last date, beginning with the largest; `rebalances`: latest rebalances, with securities added and removed, turnover, cap and redistributed weight; `annual_returns`: return of each calendar year; `monthly_returns`: return of each month, one row per year; `attribution`: contribution of each security to the return of the portfolio, beginning with the largest; `risk`: contribution of each holding to the volatility, beginning with the largest; `exposures`: weight of each sector at the end of each year, beginning with the largest; `limits`: published concentration rules: headroom, sessions in breach and number of breaches; `breaches`: breaches of the rule that triggers rebalances, latest first; empty if the index has no such rule; `overlay_parts`: contribution of the underlying securities and of the parts of an overlay; empty for other indices; `dividend_points`: ordinary dividends in index points, latest years first; empty if there are none; `pack`: orders of the latest rebalance for a portfolio of `aum` that held the index, beginning with the largest; empty for an overlay; `scenarios`: holdings of the last date in past windows and under shocks, as defined in `scenarios`; `literal`: the rows of `frame`. */
  readonly source?: 'constituents' | 'rebalances' | 'annual_returns' | 'monthly_returns' | 'attribution' | 'risk' | 'exposures' | 'limits' | 'breaches' | 'overlay_parts' | 'dividend_points' | 'pack' | 'scenarios' | 'literal' | undefined;
  /** Maximum number of rows: the largest holdings, the latest rebalances, or the latest years. A single further security is shown; several further securities are added up. */
  readonly limit?: number | undefined;
  /** Value of the portfolio of a table of orders, in the currency of the index. */
  readonly aum?: number | undefined;
  /** Past windows and shocks of a table of scenarios, as in a request for scenarios. */
  readonly scenarios?: readonly (WindowScenario | ShockScenarioInput)[] | null | undefined;
  /** Rows of a literal table. */
  readonly frame?: LiteralTable | null | undefined;
}

/** Table in the "split" format of pandas. pandas reads it by pd.DataFrame(**frame). */
export interface TableFrame {
  /** Labels of the rows. */
  readonly index: readonly (string | number)[];
  /** Labels of the columns. */
  readonly columns: readonly string[];
  /** Rows of cells. */
  readonly data: readonly (readonly unknown[])[];
}

/** Losses of one session, or drawdowns, of the solution, as fractions of value; positive for a loss. */
export interface TailOutcome {
  /** Number of scenarios: sessions or draws. */
  readonly scenarios: number;
  /** Average of the worst scenarios, which is the objective without costs. */
  readonly average: number;
  /** Smallest loss in the average, which is the value at risk. */
  readonly level: number;
  /** The worst loss. */
  readonly largest: number;
}

export interface TemplateNeed {
  /** Kind of the object. */
  readonly kind: 'column' | 'series' | 'universe';
  /** Name of the column, series or universe. */
  readonly name: string;
  /** Content of the field. */
  readonly meaning: string;
  /** True if the served store lacks the field. False if no store is served. */
  readonly missing: boolean;
}

export interface TemplateSource {
  /** Title of the public document. */
  readonly title: string;
  /** Its publisher. */
  readonly publisher: string;
  /** Year, month or day of the edition. */
  readonly date: string;
}

export interface TermPoint {
  /** Expiry of the contract. */
  readonly expiry: string;
  /** Calendar days. */
  readonly days: number;
  /** days / 365. */
  readonly year_fraction: number;
  /** Theoretical price. */
  readonly fair_value: number;
  /** fair_value less spot. */
  readonly basis: number;
  /** ln(fair_value / spot) / year_fraction. */
  readonly annualised_carry: number;
  /** Components of the basis. */
  readonly carry: CarryDecomposition;
  /** Sum of the discrete dividends between as_of and expiry, index points; 0 with a yield. */
  readonly dividend_points: number;
  /** Annualised roll from the previous expiry. */
  readonly roll_from_previous: number | null;
}

export interface TermStructureResponse {
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** Requested value; null if omitted. */
  readonly requested_as_of: string | null;
  /** The resolved date. */
  readonly as_of: string;
  /** Level of the underlying index. */
  readonly spot: number;
  /** Financing rate that was used. */
  readonly risk_free_rate: number;
  /** Dividend yield that was used. */
  readonly dividend_yield: number;
  /** Borrow rate that was used. */
  readonly borrow_rate: number;
  /** By expiry. */
  readonly points: readonly TermPoint[];
  /** Shape of the prices: rising, falling, flat or mixed. */
  readonly shape: 'contango' | 'backwardation' | 'flat' | 'mixed';
}

export interface TextBlock {
  readonly kind: 'text';
  /** Title that is printed above the block. */
  readonly title: string | null;
  /** Index (or strategy) whose latest run the block shows. */
  readonly index_id: string | null;
  /** Width of the block. Two consecutive half blocks are placed next to each other. */
  readonly width: 'full' | 'half';
  /** The paragraphs. */
  readonly text: string;
}

export interface TextBlockInput {
  readonly kind: 'text';
  /** Title that is printed above the block. */
  readonly title?: string | null | undefined;
  /** Index (or strategy) whose latest run the block shows. */
  readonly index_id?: string | null | undefined;
  /** Width of the block. Two consecutive half blocks are placed next to each other. */
  readonly width?: 'full' | 'half' | undefined;
  /** The paragraphs. */
  readonly text: string;
}

export interface Tilt {
  /** Name of a column or derived datapoint, an expression as text or as nodes, or an object with name, window, lag, aggregate and transform. */
  readonly field: string | DatapointInput | ExpressionNodeInput;
  /** Exponent of the tilt. 0 keeps the base weights. */
  readonly strength?: number | undefined;
  /** End of the datapoint whose weight increases. */
  readonly direction?: 'high' | 'low' | undefined;
}

/** Base weights that are tilted towards one end of a datapoint, or of several datapoints. The tilts are multiplied. */
export interface TiltWeightParams {
  /** Base weights. Market capitalisation uses the free float. */
  readonly base?: 'MarketCapWeight' | 'EqualWeight' | undefined;
  /** Name of a column or derived datapoint, an expression as text or as nodes, or an object with name, window, lag, aggregate and transform. */
  readonly field: string | DatapointInput | ExpressionNodeInput;
  /** Exponent of the tilt. 0 keeps the base weights. */
  readonly strength?: number | undefined;
  /** End of the datapoint whose weight increases. */
  readonly direction?: 'high' | 'low' | undefined;
  /** Further tilts, each with field, strength and direction. */
  readonly tilts?: readonly Tilt[] | undefined;
}

export interface TiltWeightWeighting {
  readonly type: 'TiltWeight';
  /** Parameters of the type, by name. */
  readonly params?: TiltWeightParams | undefined;
  /** Maximum weight of a constituent: a number, or an expression such as min(0.09, 3 * weight_in("PARENT")), which is evaluated for each constituent. Default: no maximum. Unit: fraction. */
  readonly cap?: number | string | DatapointInput | ExpressionNodeInput | null | undefined;
  /** Minimum weight of a security. Default: no minimum. Unit: fraction. */
  readonly floor?: number | null | undefined;
  /** Maximum weights of groups. */
  readonly group_caps?: readonly GroupCapInput[] | undefined;
  /** Reference column, such as ISSUER. `cap` and `ladder_caps` then limit the weight of each group of this column instead of each constituent. A constituent without a value is a separate group. */
  readonly cap_by?: string | undefined;
  /** Caps that apply if a limit is exceeded: first caps of single weights, then a cap of the total of large weights. */
  readonly ladder_caps?: LadderCaps | undefined;
  /** Datapoint that multiplies the raw weights. Its changes are phased in over several reviews. */
  readonly phase_in?: PhaseInInput | undefined;
}

/** Keeps the best fraction of the securities by a field, rounded up, overall or in each group. */
export interface TopFractionParams {
  /** Name of a column or derived datapoint, an expression as text or as nodes, or an object with name, window, lag, aggregate and transform. */
  readonly field: string | DatapointInput | ExpressionNodeInput;
  /** Fraction of the ranked securities that is kept. Unit: fraction. */
  readonly fraction: number;
  /** True ranks the smallest values first. */
  readonly ascending?: boolean | undefined;
  /** Column whose values define groups. The rule is applied to each group separately. Securities without a value form one group. */
  readonly group_by?: string | null | undefined;
  /** Treatment of a security without a value of the datapoint. In a ranking, an included security without a value is last. */
  readonly missing?: 'exclude' | 'include' | undefined;
}

export interface TopFractionRule {
  /** Id of the rule, unique within the pipeline. */
  readonly id: string;
  readonly type: 'TopFraction';
  /** Parameters of the type, by name. */
  readonly params?: TopFractionParams | undefined;
  /** Parameters that are tried, in order, if the rule keeps too few securities. */
  readonly fallback?: readonly RuleFallback[] | undefined;
}

/** Keeps the securities with the best values of a field, overall or in each group. */
export interface TopNParams {
  /** Name of a column or derived datapoint, an expression as text or as nodes, or an object with name, window, lag, aggregate and transform. */
  readonly field?: string | DatapointInput | ExpressionNodeInput | undefined;
  /** Number of securities that are kept. Unit: securities. */
  readonly count: number;
  /** True ranks the smallest values first. */
  readonly ascending?: boolean | undefined;
  /** Column whose values define groups. The rule is applied to each group separately. Securities without a value form one group. */
  readonly group_by?: string | null | undefined;
  /** Treatment of a security without a value of the datapoint. In a ranking, an included security without a value is last. */
  readonly missing?: 'exclude' | 'include' | undefined;
}

export interface TopNRule {
  /** Id of the rule, unique within the pipeline. */
  readonly id: string;
  readonly type: 'TopN';
  /** Parameters of the type, by name. */
  readonly params?: TopNParams | undefined;
  /** Parameters that are tried, in order, if the rule keeps too few securities. */
  readonly fallback?: readonly RuleFallback[] | undefined;
}

export interface TotalRiskDecomposition {
  /** Version of the index or strategy; null for runs that were stored before versions existed. */
  readonly index_version: number | null;
  /** Data store on which the run was computed; null for runs that were stored without it. */
  readonly store_id: string | null;
  /** Causes why the run is stale; null if the stored run equals a new run of the request. */
  readonly stale: StaleState | null;
  /** Fraction of the factor variance that the factor contributes. It can be negative. */
  readonly contributions: Readonly<Record<string, number>>;
  /** Fraction of the total variance that the factors explain. */
  readonly factor_share: number;
  /** Variance that the factors explain. */
  readonly factor_variance: number;
  /** Specific variance of the securities. */
  readonly specific_variance: number;
  /** Total variance. */
  readonly total_variance: number;
  /** Residual, which contains only rounding errors. */
  readonly residual: number;
  /** True if the residual is within its tolerance. */
  readonly reconciles: boolean;
  /** Source of the factors. For a stored model, its estimator, or `imported`. */
  readonly model: 'market_sector' | 'statistical' | 'industries' | 'styles' | 'imported';
  /** Factors of the model. */
  readonly factors: readonly string[];
  /** Requested value; null if omitted. */
  readonly requested_as_of: string | null;
  /** Date of the weights. */
  readonly as_of: string;
  /** Stored risk model; null for a model estimated over the window of the run. */
  readonly risk_model: string | null;
  /** Requested estimator; null for `model` or a stored model. */
  readonly risk_estimator: 'statistical' | 'industries' | 'styles' | null;
  /** Securities without an estimate. */
  readonly uncovered: readonly string[];
  /** First date of the levels of the run. The estimation period begins on this date. */
  readonly window_start: string | null;
  /** Last date of the levels of the run. */
  readonly window_end: string | null;
  /** Number of sessions with a return of every covered security, from which the risk is estimated; null for a stored model. */
  readonly observations: number | null;
  /** `LOOK_AHEAD`: the estimate uses returns after as_of. `MODEL_LACKS_NAMES`: the stored model has no estimate for some securities. `NO_EFFECT`: the model does not use `factors`. */
  readonly findings: readonly Finding[];
  /** Annualised forecast of the volatility: the root of the total variance. */
  readonly volatility: number;
  /** Exposure to each factor. */
  readonly exposures: Readonly<Record<string, number>>;
  /** Fraction of the gross weight with an estimate. The figures are scaled to the full weight. */
  readonly covered_weight: number;
}

/** The annualised tracking error relative to the index is at most a limit. */
export interface TrackingErrorParams {
  /** Largest annualised tracking error. Unit: fraction a year. */
  readonly limit: number;
  /** Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated. */
  readonly soft?: number | null | undefined;
  /** Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy. */
  readonly priority?: number | undefined;
}

export interface TrackingErrorRow {
  readonly type: 'TrackingError';
  /** Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position. */
  readonly id?: string | undefined;
  /** Parameters of the type, by name. */
  readonly params?: TrackingErrorParams | undefined;
}

export interface TrackingForecastPayload {
  /** Annualised root mean square of the forecasts that applied on each date. A fraction. */
  readonly tracking_error: number;
  /** Annualised standard deviation of the active returns with a forecast. A fraction. */
  readonly realised_tracking_error: number;
  /** Standard deviation of the active returns, each divided by its forecast. Above 1, risk was underestimated. Null if a forecast is 0. */
  readonly bias: number | null;
  /** Lower end of the 95% band of the bias of unbiased forecasts. */
  readonly bias_low: number;
  /** Upper end of the 95% band of the bias: 1 + sqrt(2 / observations). */
  readonly bias_high: number;
  /** Number of active returns with a forecast. */
  readonly observations: number;
  /** Rebalances with a forecast, by date. */
  readonly rebalances: readonly ({
    /** Session after which the forecast applies. */
    readonly date: string;
    /** Annualised forecast of the risk model at the decision. A fraction. */
    readonly tracking_error: number;
    /** Annualised tracking error until the next rebalance, a fraction; null with fewer than two returns. */
    readonly realised_tracking_error: number | null;
    /** Number of returns until the next rebalance. */
    readonly observations: number;
  })[];
}

/** Costs of the trades, as a fraction of value. Trades start from the weights held just before, or from the index weights if there are no holdings. */
export interface TradeCosts {
  /** Cost of a trade, in basis points of the traded weight. */
  readonly linear_bps: number;
  /** Market impact: this coefficient times the traded weight of a security to the power of 3/2. */
  readonly impact_coefficient: number;
}

/** Costs of the trades, as a fraction of value. Trades start from the weights held just before, or from the index weights if there are no holdings. */
export interface TradeCostsInput {
  /** Cost of a trade, in basis points of the traded weight. */
  readonly linear_bps?: number | undefined;
  /** Market impact: this coefficient times the traded weight of a security to the power of 3/2. */
  readonly impact_coefficient?: number | undefined;
}

/** No weight differs from the reference portfolio by more than a bound. */
export interface TradeSizeParams {
  /** Largest change of one weight. Unit: fraction. */
  readonly upper: number;
  /** Portfolio from which trades are measured: the index, the previous solved weights, or the weights held just before the rebalance, after drift. */
  readonly reference?: 'index' | 'previous' | 'held' | undefined;
  /** Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated. */
  readonly soft?: number | null | undefined;
  /** Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy. */
  readonly priority?: number | undefined;
}

export interface TradeSizeRow {
  readonly type: 'TradeSize';
  /** Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position. */
  readonly id?: string | undefined;
  /** Parameters of the type, by name. */
  readonly params?: TradeSizeParams | undefined;
}

export interface TreatmentSpec {
  /** Return variant: dividends excluded, reinvested, or reinvested after withholding tax. */
  readonly dividends: 'price' | 'total' | 'net';
  /** Fraction of ordinary dividends that is withheld in the net variant. It is a number, or rates by the value of a field: { "field": "COUNTRY", "rates": { "US": 0.3 }, "default": 0.15 }. Unit: fraction. */
  readonly withholding_tax: number | WithholdingRates;
  /** Ordinary dividends are reinvested in the whole index, or in the security that pays them. */
  readonly reinvestment: 'index' | 'constituent';
  /** Special dividends and returns of capital reduce the previous close and change the divisor (adjust), are reinvested in the security that pays them (constituent, or its synonym reinvest), or are ignored. */
  readonly special_dividends: 'adjust' | 'constituent' | 'reinvest' | 'ignore';
  /** The previous close becomes the ex-rights price. Index shares increase by the new shares (subscribe), do not change (price_only), or change so that the value of the holding is constant (constituent). Default: subscribe for weights by market value, otherwise price_only. */
  readonly rights?: 'subscribe' | 'price_only' | 'constituent' | undefined;
  /** Splits are applied. Use ignore only if prices are already adjusted. */
  readonly splits: 'apply' | 'ignore';
  /** Value at which a delisted security leaves. */
  readonly delisting: 'last_price' | 'zero' | 'action_value';
  /** A spun-off security enters at zero on its ex-date. It stays until the next rebalance, leaves at its first close, or is ignored. */
  readonly spin_offs: 'zero_price' | 'drop_after_first_session' | 'ignore';
  /** If a price is missing, the last price is used (carry), the security is excluded until the next rebalance (exclude), or the run fails (fail). */
  readonly missing_prices: 'carry' | 'exclude' | 'fail';
  /** A constituent leaves after this number of sessions of its calendar without a price. With null, its last price is used until a review or an action removes it. Default: 5, or null if the store has a delisting, an acquisition or a merger. Unit: sessions. */
  readonly max_stale_sessions?: number | null | undefined;
  /** A security is not newly selected after this number of sessions without a price, or after max_stale_sessions if that is less. Unit: sessions. */
  readonly entry_stale_sessions: number;
  /** A constituent without a price that is removed without an action leaves at its last price, or its value is written off (zero). Default: last_price. */
  readonly suspension?: 'last_price' | 'zero' | undefined;
  /** A trade without a price uses the last price (carry), or waits for the next price bar (defer). */
  readonly stale_targets: 'carry' | 'defer';
  /** The index is rebalanced if a limit is exceeded between reviews (rebalance), or nothing happens (none). */
  readonly on_breach?: 'none' | 'rebalance' | undefined;
  /** Published rule. Its breach triggers a rebalance. Default: UCITS_5_10_40. */
  readonly breach_rule?: 'UCITS_5_10_40' | 'UCITS_20_35' | 'RIC_25_5_50' | 'SEC_75_5_10' | undefined;
}

export interface TreatmentSpecInput {
  /** Return variant: dividends excluded, reinvested, or reinvested after withholding tax. */
  readonly dividends?: 'price' | 'total' | 'net' | undefined;
  /** Fraction of ordinary dividends that is withheld in the net variant. It is a number, or rates by the value of a field: { "field": "COUNTRY", "rates": { "US": 0.3 }, "default": 0.15 }. Unit: fraction. */
  readonly withholding_tax?: number | WithholdingRates | undefined;
  /** Ordinary dividends are reinvested in the whole index, or in the security that pays them. */
  readonly reinvestment?: 'index' | 'constituent' | undefined;
  /** Special dividends and returns of capital reduce the previous close and change the divisor (adjust), are reinvested in the security that pays them (constituent, or its synonym reinvest), or are ignored. */
  readonly special_dividends?: 'adjust' | 'constituent' | 'reinvest' | 'ignore' | undefined;
  /** The previous close becomes the ex-rights price. Index shares increase by the new shares (subscribe), do not change (price_only), or change so that the value of the holding is constant (constituent). Default: subscribe for weights by market value, otherwise price_only. */
  readonly rights?: 'subscribe' | 'price_only' | 'constituent' | undefined;
  /** Splits are applied. Use ignore only if prices are already adjusted. */
  readonly splits?: 'apply' | 'ignore' | undefined;
  /** Value at which a delisted security leaves. */
  readonly delisting?: 'last_price' | 'zero' | 'action_value' | undefined;
  /** A spun-off security enters at zero on its ex-date. It stays until the next rebalance, leaves at its first close, or is ignored. */
  readonly spin_offs?: 'zero_price' | 'drop_after_first_session' | 'ignore' | undefined;
  /** If a price is missing, the last price is used (carry), the security is excluded until the next rebalance (exclude), or the run fails (fail). */
  readonly missing_prices?: 'carry' | 'exclude' | 'fail' | undefined;
  /** A constituent leaves after this number of sessions of its calendar without a price. With null, its last price is used until a review or an action removes it. Default: 5, or null if the store has a delisting, an acquisition or a merger. Unit: sessions. */
  readonly max_stale_sessions?: number | null | undefined;
  /** A security is not newly selected after this number of sessions without a price, or after max_stale_sessions if that is less. Unit: sessions. */
  readonly entry_stale_sessions?: number | undefined;
  /** A constituent without a price that is removed without an action leaves at its last price, or its value is written off (zero). Default: last_price. */
  readonly suspension?: 'last_price' | 'zero' | undefined;
  /** A trade without a price uses the last price (carry), or waits for the next price bar (defer). */
  readonly stale_targets?: 'carry' | 'defer' | undefined;
  /** The index is rebalanced if a limit is exceeded between reviews (rebalance), or nothing happens (none). */
  readonly on_breach?: 'none' | 'rebalance' | undefined;
  /** Published rule. Its breach triggers a rebalance. Default: UCITS_5_10_40. */
  readonly breach_rule?: 'UCITS_5_10_40' | 'UCITS_20_35' | 'RIC_25_5_50' | 'SEC_75_5_10' | undefined;
}

export interface TrsPriceRequest {
  /** Index whose level is the spot. Exactly one of index_id and spot is required. */
  readonly index_id?: string | null | undefined;
  /** Spot level, greater than 0. Requires as_of. */
  readonly spot?: number | null | undefined;
  /** Level at the last reset. Default: the index level at the start of the current period, or spot. */
  readonly initial_level?: number | null | undefined;
  /** Notional of the swap. */
  readonly notional: number;
  /** Effective date, or date of the last reset. */
  readonly start: string;
  /** After as_of. */
  readonly maturity: string;
  /** Valuation date. Default: the date of the latest level. */
  readonly as_of?: string | null | undefined;
  /** Direction of the return leg: received or paid. */
  readonly direction?: 'receive' | 'pay' | undefined;
  /** Treatment of dividends in the return. */
  readonly return_type?: 'total' | 'price' | undefined;
  /** Frequency of resets of the swap. */
  readonly reset_frequency?: 'none' | 'monthly' | 'quarterly' | 'semi_annual' | 'annual' | undefined;
  /** Discount rate and floating index. A fraction, annual and continuously compounded. Default: 0. */
  readonly risk_free_rate?: number | undefined;
  /** Spread over the floating rate, simple, ACT/360. */
  readonly spread?: number | undefined;
  /** Dividend yield. A fraction, annual and continuously compounded. Default: 0. */
  readonly dividend_yield?: number | undefined;
  /** Stock borrow. A fraction, annual and continuously compounded. Default: 0. */
  readonly borrow_rate?: number | undefined;
}

export interface TrsPriceResponse {
  /** The index, or the strategy of a run. */
  readonly index_id: string | null;
  /** Requested value; null if omitted. */
  readonly requested_as_of: string | null;
  /** The resolved date. */
  readonly as_of: string;
  /** First date. */
  readonly start: string;
  /** Last date of the swap. */
  readonly maturity: string;
  /** Direction of the return: received or paid. */
  readonly direction: 'receive' | 'pay';
  /** Treatment of dividends in the return. */
  readonly return_type: 'total' | 'price';
  /** Level of the underlying index. */
  readonly spot: number;
  /** Level at the last reset. */
  readonly initial_level: number;
  /** Notional of the swap. */
  readonly notional: number;
  /** Value for the party with this `direction`. */
  readonly value: number;
  /** Value of the return leg. */
  readonly equity_leg: number;
  /** Value of the financing leg. */
  readonly financing_leg: number;
  /** Return since the last reset, in money. */
  readonly accrued_equity: number;
  /** Interest since the last reset, in money. */
  readonly accrued_financing: number;
  /** The spread that makes the value zero. */
  readonly par_spread: number;
  /** Change of the value per point of spot. */
  readonly delta: number;
  /** Change of the value per basis point of the risk-free rate. */
  readonly rho: number;
  /** Current and future periods. */
  readonly periods: readonly {
    /** First date. */
    readonly start: string;
    /** Last date. */
    readonly end: string;
    /** Calendar days. */
    readonly days: number;
    /** Value of the return of the period. */
    readonly equity: number;
    /** Value of the interest of the period. */
    readonly financing: number;
    /** Discount factor at the end of the period. */
    readonly discount_factor: number;
  }[];
}

/** One-way turnover relative to the reference portfolio (half the sum of absolute weight changes) is at most a limit. Securities of the reference that left the index are counted as sold. The default reference of a derived index is the weights held just before the rebalance, so that its first portfolio is unrestricted. */
export interface TurnoverParams {
  /** Largest one-way turnover. Unit: fraction. */
  readonly limit: number;
  /** Portfolio from which trades are measured: the index, the previous solved weights, or the weights held just before the rebalance, after drift. */
  readonly reference?: 'index' | 'previous' | 'held' | undefined;
  /** Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated. */
  readonly soft?: number | null | undefined;
  /** Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy. */
  readonly priority?: number | undefined;
}

export interface TurnoverRow {
  readonly type: 'Turnover';
  /** Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position. */
  readonly id?: string | undefined;
  /** Parameters of the type, by name. */
  readonly params?: TurnoverParams | undefined;
}

export interface TypeSpec {
  /** Class name. */
  readonly type: string;
  /** Human-readable name. */
  readonly label: string;
  /** Catalogue that contains the class. */
  readonly category: 'selection' | 'weighting' | 'constraint' | 'objective' | 'expected_returns';
  /** Description in one or two sentences. */
  readonly help: string | null;
  /** Parameters of the class in the order of a form. */
  readonly parameters: readonly ParameterSpec[];
  /** Unit of the figure. */
  readonly unit: 'fraction' | 'count' | 'value' | null;
  /** Kind of the object. */
  readonly kind: 'eq' | 'ineq' | null;
  /** False for classes that make a result heuristic. */
  readonly convex: boolean | null;
  /** Complete valid example. */
  readonly example: Readonly<Record<string, unknown>> | null;
}

/** Uncertainty sets of the estimates. The objective is optimised for the worst expected returns and covariances in these sets. Constraints use the estimates. */
export interface Uncertainty {
  /** Errors of the expected returns; null if there are none. */
  readonly returns: ReturnsUncertainty | null;
  /** Errors of the covariances; null if there are none. */
  readonly covariance: CovarianceUncertainty | null;
}

/** Uncertainty sets of the estimates. The objective is optimised for the worst expected returns and covariances in these sets. Constraints use the estimates. */
export interface UncertaintyInput {
  /** Errors of the expected returns; null if there are none. */
  readonly returns?: ReturnsUncertaintyInput | null | undefined;
  /** Errors of the covariances; null if there are none. */
  readonly covariance?: CovarianceUncertainty | null | undefined;
}

export interface UnfilledOrderPayload {
  /** The date. */
  readonly date: string;
  /** Asset identifier. */
  readonly asset_id: string;
  /** Bought or sold. */
  readonly side: 'buy' | 'sell';
  /** Target weight of the rebalance. */
  readonly target_weight: number;
  /** Weight held after the close. */
  readonly held_weight: number;
  /** Value of the order, positive. */
  readonly notional: number;
  /** Reason. */
  readonly reason: 'no_price' | 'stale_price' | 'delisted';
  /** Later session on which the order was filled; null if it was never filled. */
  readonly filled_on: string | null;
}

export interface UniverseMembership {
  /** Name of the universe. */
  readonly universe: string;
  /** Display name. */
  readonly name: string | null;
  /** First day of the membership; null if it has no beginning. */
  readonly start: string | null;
  /** First day on which the security is no longer a member; null for a current member. */
  readonly end: string | null;
  /** True if the security is a member on as_of, or today. */
  readonly current: boolean;
}

export interface UniverseSpec {
  /** Source of the securities: the market, an index, a list, or a set operation on other universes. */
  readonly kind: 'all' | 'named' | 'list' | 'index' | 'watchlist' | 'union' | 'difference' | 'intersection';
  /** For the kind `named`, a universe of the market. For `index`, an index with its constituents at each decision. */
  readonly id?: string | null | undefined;
  /** Stored watchlist for the kind `watchlist`, as it is when the index is computed. */
  readonly watchlist_id?: string | undefined;
  /** Identifiers of the securities, for the kind `list`. */
  readonly identifiers?: readonly string[] | undefined;
  /** Universes of a set operation: securities in any of them (union), in all of them (intersection), or only in the first one (difference). An index contributes its last decided constituents. */
  readonly of?: readonly UniverseSpec[] | undefined;
}

export interface UniverseSpecInput {
  /** Source of the securities: the market, an index, a list, or a set operation on other universes. */
  readonly kind?: 'all' | 'named' | 'list' | 'index' | 'watchlist' | 'union' | 'difference' | 'intersection' | undefined;
  /** For the kind `named`, a universe of the market. For `index`, an index with its constituents at each decision. */
  readonly id?: string | null | undefined;
  /** Stored watchlist for the kind `watchlist`, as it is when the index is computed. */
  readonly watchlist_id?: string | undefined;
  /** Identifiers of the securities, for the kind `list`. */
  readonly identifiers?: readonly string[] | undefined;
  /** Universes of a set operation: securities in any of them (union), in all of them (intersection), or only in the first one (difference). An index contributes its last decided constituents. */
  readonly of?: readonly UniverseSpecInput[] | undefined;
}

/** Means over the portfolios of a family. */
export interface ValidatedFamily {
  /** equal_weight: all covered securities. index: the weights of the index. random: long-only, 20 securities. active: a random portfolio less the equally weighted portfolio. eigenportfolio: an eigenvector of the covariance. */
  readonly family: 'equal_weight' | 'index' | 'random' | 'active' | 'eigenportfolio';
  /** Portfolios of the family. */
  readonly portfolios: number;
  /** Fraction of the portfolios with a bias within the band; 0.95 for unbiased forecasts. */
  readonly share_in_band: number;
  /** Standard deviation of the outcomes, each divided by its forecast. Above 1, risk was underestimated. */
  readonly bias: number;
  /** Mean of z^2 - ln z^2 of the standardised outcomes; 2.27 for correct forecasts and normal returns. */
  readonly q_statistic: number | null;
  /** Mean of ln s^2 + z^2, where s is the forecast over the horizon. The model with the lower value forecasts better. */
  readonly qlike: number;
  /** Mean of |bias - 1| over rolling windows of 12 outcomes; null with fewer outcomes. It is 0.17 for correct forecasts. */
  readonly mean_rolling_deviation: number | null;
}

export interface ValidatedPortfolio {
  /** equal_weight: all covered securities. index: the weights of the index. random: long-only, 20 securities. active: a random portfolio less the equally weighted portfolio. eigenportfolio: an eigenvector of the covariance. */
  readonly family: 'equal_weight' | 'index' | 'random' | 'active' | 'eigenportfolio';
  /** Number within the family, from 1. Eigenportfolios are sorted by decreasing eigenvalue. */
  readonly number: number;
  /** Number of forecasts with an outcome. */
  readonly observations: number;
  /** Standard deviation of the outcomes, each divided by its forecast. Above 1, risk was underestimated. */
  readonly bias: number;
  /** Mean of z^2 - ln z^2 of the standardised outcomes; 2.27 for correct forecasts and normal returns. */
  readonly q_statistic: number | null;
  /** Mean of ln s^2 + z^2, where s is the forecast over the horizon. The model with the lower value forecasts better. */
  readonly qlike: number;
  /** Mean of |bias - 1| over rolling windows of 12 outcomes; null with fewer outcomes. It is 0.17 for correct forecasts. */
  readonly mean_rolling_deviation: number | null;
  /** Lower end of the 95% band of the bias of unbiased forecasts: 1 - sqrt(2 / observations). */
  readonly bias_low: number;
  /** Upper end of the 95% band of the bias: 1 + sqrt(2 / observations). */
  readonly bias_high: number;
  /** True if the bias is within the band. */
  readonly in_band: boolean;
  /** Root mean square of the forecasts, annualised. */
  readonly forecast_volatility: number;
  /** Standard deviation of the outcomes, annualised. */
  readonly realised_volatility: number;
}

export interface ValidationReport {
  /** True if a PUT of this body would succeed. */
  readonly valid: boolean;
  /** Findings, most severe first. */
  readonly findings: readonly Finding[];
}

/** A constant. */
export interface ValueNode {
  readonly node: 'value';
  /** Constant, or a list of constants such as the edges of ladder. */
  readonly value: number | string | boolean | readonly (number | string | boolean)[];
  /** Canonical text of the tree, at its root; ignored in requests. */
  readonly text?: string | undefined;
}

export interface VersionDifference {
  /** Number of the first version. */
  readonly from: number;
  /** Number of the second version. */
  readonly to: number;
  /** Changes that lead from the first to the second version, in order. */
  readonly changes: readonly DocumentChange[];
  /** Changes of the methodology, only for indices. */
  readonly sentences: {
    /** Sentences that only the first version contains. */
    readonly removed: readonly string[];
    /** Sentences that only the second version contains. */
    readonly added: readonly string[];
  };
}

export interface VersionList {
  /** Newest first. */
  readonly versions: readonly DocumentVersion[];
  /** Number of stored versions, listed or not. */
  readonly total: number;
  /** Number of stored documents that are omitted because they cannot be read. */
  readonly skipped: number;
  /** Number of omitted documents by cause. */
  readonly skipped_causes: SkippedCauses;
}

/** Document as it was stored, with its fields at that time. */
export type VersionedDocument = Readonly<Record<string, never>>;

export interface View {
  /** Portfolio of the view: one security for an absolute view, or weights that sum to 0 for a relative view. */
  readonly weights: Readonly<Record<string, number>>;
  /** Expected return of the portfolio, as a fraction per year. */
  readonly value: number;
  /** Confidence from 0 (no effect) to 1 (certainty). */
  readonly confidence?: number | undefined;
}

/** Keeps securities with an annualised volatility between two bounds. The volatility uses the returns between price bars on consecutive sessions. */
export interface VolatilityFilterParams {
  /** Number of trailing sessions of the calendar up to the decision date. Sessions without a price bar have no value. Unit: sessions. */
  readonly window?: number | undefined;
  /** Maximum volatility; null: no maximum. Unit: fraction per year. */
  readonly maximum?: number | null | undefined;
  /** Minimum volatility; null: no minimum. Unit: fraction per year. */
  readonly minimum?: number | null | undefined;
  /** Treatment of a security without a value of the datapoint. In a ranking, an included security without a value is last. */
  readonly missing?: 'exclude' | 'include' | undefined;
}

export interface VolatilityFilterRule {
  /** Id of the rule, unique within the pipeline. */
  readonly id: string;
  readonly type: 'VolatilityFilter';
  /** Parameters of the type, by name. */
  readonly params?: VolatilityFilterParams | undefined;
  /** Parameters that are tried, in order, if the rule keeps too few securities. */
  readonly fallback?: readonly RuleFallback[] | undefined;
}

/** The annualised volatility of the portfolio is at most a limit. */
export interface VolatilityParams {
  /** Largest annualised volatility. Unit: fraction a year. */
  readonly limit: number;
  /** Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated. */
  readonly soft?: number | null | undefined;
  /** Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy. */
  readonly priority?: number | undefined;
}

export interface VolatilityRow {
  readonly type: 'Volatility';
  /** Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position. */
  readonly id?: string | undefined;
  /** Parameters of the type, by name. */
  readonly params?: VolatilityParams | undefined;
}

/** Order that waits for a bar, with `stale_targets: "defer"`. */
export interface WaitingOrder {
  /** Rebalance that placed the order. */
  readonly date: string;
  /** Bought or sold. */
  readonly side: 'buy' | 'sell';
  /** Weight of the order. */
  readonly target_weight: number;
  /** Reason. */
  readonly reason: 'no_price' | 'stale_price' | 'delisted';
}

/** Findings of a check that are accepted. */
export interface WaiveFacts {
  readonly kind: 'waive';
  /** The schedule. */
  readonly schedule_id: string;
  /** Session. */
  readonly date: string;
  /** Check whose findings are accepted. */
  readonly check: 'coverage' | 'staleness' | 'moves' | 'history' | 'actions' | 'confirmed_actions' | 'weights' | 'divisor' | 'limits' | 'second_source' | 'published';
  /** Index, including the indices that depend on it; null for every index. */
  readonly index_id: string | null;
  /** Security or series; null for every finding of the check. */
  readonly identifier: string | null;
  /** Reason. */
  readonly reason: string;
  /** Findings at the time of the request; at most 200. */
  readonly findings: readonly AcceptedFinding[];
  /** Number of findings. */
  readonly total: number;
}

export interface Waiver {
  /** Check whose findings are accepted. */
  readonly check: 'coverage' | 'staleness' | 'moves' | 'history' | 'actions' | 'confirmed_actions' | 'weights' | 'divisor' | 'limits' | 'second_source' | 'published';
  /** Index, including the indices that depend on it; null for every index. */
  readonly index_id: string | null;
  /** Security; null for every finding of the check. */
  readonly identifier: string | null;
  /** Why. */
  readonly reason: string;
  /** Name of the key. */
  readonly author: string;
  /** Id of the key. */
  readonly key_id: string | null;
  /** Time of the decision. */
  readonly at: string;
}

/** Every group after the first sample is tested. The earlier groups are its sample. */
export interface WalkForwardFolds {
  readonly method: 'walk_forward';
  /** Number of groups of equal length into which time is divided. */
  readonly groups?: number | undefined;
  /** Metric by which a variant is selected in sample. The first of equal variants is selected. */
  readonly select_by?: 'sharpe_ratio' | 'annualised_return' | 'max_drawdown' | 'volatility' | undefined;
  /** Number of sample sessions that are excluded before and after every test, because closes of one day occur at different times. */
  readonly purge?: number | undefined;
  /** Number of groups in the sample before the first test. */
  readonly train_groups?: number | undefined;
  /** `expanding`: the sample is everything before the test. `rolling`: the sample is the last `train_groups` groups before the test. */
  readonly window?: 'expanding' | 'rolling' | undefined;
}

export interface Watchlist {
  /** The watchlist. */
  readonly watchlist_id: string;
  /** Display name. */
  readonly name: string;
  /** Free text. */
  readonly description: string | null;
  /** Identifiers in the order of the client, without duplicates. */
  readonly identifiers: readonly string[];
  /** Time of the last change, ISO-8601 UTC with offset. */
  readonly updated_at: string;
  /** Identifiers that the served store does not contain; all identifiers if no store is served. */
  readonly unknown: readonly string[];
}

export interface WatchlistCollection {
  /** Watchlists by id. */
  readonly watchlists: readonly Watchlist[];
  /** Number of stored documents that are omitted because they cannot be read. */
  readonly skipped: number;
  /** Number of omitted documents by cause. */
  readonly skipped_causes: SkippedCauses;
}

export interface WatchlistUpsert {
  /** Display name. */
  readonly name: string;
  /** Free text. */
  readonly description?: string | null | undefined;
  /** Identifiers in display order, without duplicates. */
  readonly identifiers?: readonly string[] | undefined;
}

export interface WeightChange {
  /** Asset identifier. */
  readonly identifier: string;
  /** Value before the change. */
  readonly before: number;
  /** Value after the change. */
  readonly after: number;
  /** Value after less value before. */
  readonly change: number;
}

export interface WeightFigures {
  /** Objective in its measure, including costs; null if it is undefined for the weights. */
  readonly objective_value: number | null;
  /** Annualised expected return before costs; null without expected returns. */
  readonly expected_return: number | null;
  /** Annualised volatility, with the risk model of the optimisation. */
  readonly volatility: number;
  /** Annualised tracking error against the index. */
  readonly tracking_error: number;
  /** One-way turnover against the index weights. */
  readonly turnover: number;
}

export interface WeightRow {
  /** Asset identifier. */
  readonly identifier: string;
  /** Optimised weight. */
  readonly weight: number;
  /** Weight in the target index. */
  readonly index_weight: number;
  /** weight - index_weight. */
  readonly active_weight: number;
  /** Contribution to the tracking error. The contributions add up to the tracking error. */
  readonly risk_contribution: number;
  /** Fraction of the portfolio variance. The fractions add up to 1. */
  readonly variance_share: number;
  /** Binding bound of the position; null if no bound is binding. */
  readonly at_bound: 'lower' | 'upper' | null;
}

/** The sum of the weights is between two bounds, and the rest is cash. Replaces FullInvestment. A monitored constraint accepts sums from -10 to 10, which overlays can have. */
export interface WeightSumParams {
  /** Smallest sum. Unit: fraction. */
  readonly lower?: number | undefined;
  /** Largest sum. Unit: fraction. */
  readonly upper?: number | undefined;
  /** Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated. */
  readonly soft?: number | null | undefined;
  /** Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy. */
  readonly priority?: number | undefined;
}

export interface WeightSumRow {
  readonly type: 'WeightSum';
  /** Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position. */
  readonly id?: string | undefined;
  /** Parameters of the type, by name. */
  readonly params?: WeightSumParams | undefined;
}

/** The weighted average of a datapoint over the invested weight is between two bounds, or between two multiples of the average of the index. */
export interface WeightedAverageParams {
  /** Name of a datapoint, or an expression of datapoints as text or as nodes, as known on the rebalance date. */
  readonly field: string | ExpressionNodeInput;
  /** Smallest average, or multiple of the average of the index. */
  readonly lower?: number | BoundPath | null | undefined;
  /** Largest average, or multiple of the average of the index. */
  readonly upper?: number | BoundPath | null | undefined;
  /** If true, the bounds are multiples of the average of the index. */
  readonly relative?: boolean | undefined;
  /** Treatment of a security without a value: it is excluded from the average (renormalise), or its value is zero (zero). */
  readonly missing?: 'zero' | 'renormalise' | undefined;
  /** Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated. */
  readonly soft?: number | null | undefined;
  /** Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy. */
  readonly priority?: number | undefined;
}

export interface WeightedAverageRow {
  readonly type: 'WeightedAverage';
  /** Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position. */
  readonly id?: string | undefined;
  /** Parameters of the type, by name. */
  readonly params?: WeightedAverageParams | undefined;
}

/** Smallest value for which the securities with at most this value have this fraction of the weights. */
export interface WeightedPercentiles {
  /** 10%. One value per date; null if no holding has a value. */
  readonly p10: readonly (number | null)[];
  /** 25%. One value per date; null if no holding has a value. */
  readonly p25: readonly (number | null)[];
  /** The median. One value per date; null if no holding has a value. */
  readonly p50: readonly (number | null)[];
  /** 75%. One value per date; null if no holding has a value. */
  readonly p75: readonly (number | null)[];
  /** 90%. One value per date; null if no holding has a value. */
  readonly p90: readonly (number | null)[];
}

export interface WeightingSpec {
  /** Weighting class; see /indices/rule-types. */
  readonly type: string;
  /** Parameters of the type, by name. */
  readonly params: Readonly<Record<string, unknown>>;
  /** Maximum weight of a constituent: a number, or an expression such as min(0.09, 3 * weight_in("PARENT")), which is evaluated for each constituent. Default: no maximum. Unit: fraction. */
  readonly cap: number | string | Datapoint | ExpressionNode | null;
  /** Minimum weight of a security. Default: no minimum. Unit: fraction. */
  readonly floor: number | null;
  /** Maximum weights of groups. */
  readonly group_caps: readonly GroupCap[];
  /** Reference column, such as ISSUER. `cap` and `ladder_caps` then limit the weight of each group of this column instead of each constituent. A constituent without a value is a separate group. */
  readonly cap_by?: string | undefined;
  /** Caps that apply if a limit is exceeded: first caps of single weights, then a cap of the total of large weights. */
  readonly ladder_caps?: LadderCaps | undefined;
  /** Datapoint that multiplies the raw weights. Its changes are phased in over several reviews. */
  readonly phase_in?: PhaseIn | undefined;
}

export interface WeightingSpecInput {
  /** Weighting class; see /indices/rule-types. */
  readonly type: string;
  /** Parameters of the type, by name. */
  readonly params?: Readonly<Record<string, unknown>> | undefined;
  /** Maximum weight of a constituent: a number, or an expression such as min(0.09, 3 * weight_in("PARENT")), which is evaluated for each constituent. Default: no maximum. Unit: fraction. */
  readonly cap?: number | string | DatapointInput | ExpressionNodeInput | null | undefined;
  /** Minimum weight of a security. Default: no minimum. Unit: fraction. */
  readonly floor?: number | null | undefined;
  /** Maximum weights of groups. */
  readonly group_caps?: readonly GroupCapInput[] | undefined;
  /** Reference column, such as ISSUER. `cap` and `ladder_caps` then limit the weight of each group of this column instead of each constituent. A constituent without a value is a separate group. */
  readonly cap_by?: string | undefined;
  /** Caps that apply if a limit is exceeded: first caps of single weights, then a cap of the total of large weights. */
  readonly ladder_caps?: LadderCaps | undefined;
  /** Datapoint that multiplies the raw weights. Its changes are phased in over several reviews. */
  readonly phase_in?: PhaseInInput | undefined;
}

/** Weights, including cash, add up to 1, and are not negative in an index without short positions. */
export interface WeightsCheck {
  readonly check: 'weights';
  /** Findings block the index (block), or are only reported (warn). Default: block. */
  readonly severity: 'block' | 'warn';
  /** Largest difference of the sum from 1. */
  readonly tolerance: number;
}

/** Weights, including cash, add up to 1, and are not negative in an index without short positions. */
export interface WeightsCheckInput {
  readonly check: 'weights';
  /** Findings block the index (block), or are only reported (warn). Default: block. */
  readonly severity?: 'block' | 'warn' | undefined;
  /** Largest difference of the sum from 1. */
  readonly tolerance?: number | undefined;
}

export interface WeightsView {
  /** Version of the index or strategy; null for runs that were stored before versions existed. */
  readonly index_version: number | null;
  /** Data store on which the run was computed; null for runs that were stored without it. */
  readonly store_id: string | null;
  /** Causes why the run is stale; null if the stored run equals a new run of the request. */
  readonly stale: StaleState | null;
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** Requested value; null if omitted. */
  readonly requested_as_of: string | null;
  /** The resolved date. */
  readonly as_of: string;
  /** Date of the rebalance in force. */
  readonly rebalance_date: string;
  /** Maximum weight of a security; null if there is none. */
  readonly cap: number | null;
  /** Securities, the largest weight first, and last the cash that an overlay holds or owes, with which its weights sum to 1. */
  readonly weights: readonly ConstituentRow[];
  /** Concentration of the weights. */
  readonly concentration: ConcentrationPayload;
  /** Long, short, gross and net exposure of the held weights; absent without a short position. */
  readonly exposure?: ExposurePayload | undefined;
  /** Drift of the weights since the rebalance; null on the rebalance date. */
  readonly drift: DriftPayload | null;
  /** Decomposition of the volatility, if it was requested. */
  readonly risk: RiskPayload | null;
  /** Decomposition of the tracking error, if a benchmark and risk were requested. */
  readonly active_risk: ActiveRiskPayload | null;
}

/** Exactly one of index_id and document, and exactly one of patch and changed, are required. */
export interface WhatIfRequest {
  /** Id of a stored index that is the base. */
  readonly index_id?: string | null | undefined;
  /** Document that is the base, instead of index_id. */
  readonly document?: IndexDocumentBody | null | undefined;
  /** Changes to the base: a JSON merge patch (RFC 7396), which replaces whole arrays. */
  readonly patch?: Readonly<Record<string, unknown>> | null | undefined;
  /** Complete changed document, instead of patch. */
  readonly changed?: IndexDocumentBody | null | undefined;
  /** Decision date of both definitions. Default: the latest date of the store. */
  readonly as_of?: string | null | undefined;
  /** Version of the data: a number, or the newest version known at a time (for a date: its end, in UTC). */
  readonly as_known_on?: number | string | undefined;
}

export interface WhatIfResponse {
  /** The resolved date. */
  readonly as_of: string;
  /** Latest session with data on or before the date; null if the date is before the first session. */
  readonly resolved_date: string | null;
  /** Value before the change. */
  readonly before: WhatIfSide;
  /** Value after the change. */
  readonly after: WhatIfSide;
  /** Securities that are only in the changed definition. */
  readonly added: readonly WeightChange[];
  /** Securities that are only in the base. */
  readonly removed: readonly WeightChange[];
  /** Securities with different weights in the two definitions. */
  readonly changed: readonly WeightChange[];
  /** One-way turnover: half the sum of the absolute changes. */
  readonly turnover: number;
  /** Warnings about the changed document. */
  readonly findings: readonly Finding[];
}

export interface WhatIfSide {
  /** The index, or the strategy of a run. */
  readonly index_id: string;
  /** Number of securities with a weight above 0. */
  readonly constituents: number;
  /** Largest weight. */
  readonly largest: number;
  /** 1 divided by the sum of squared weights: the number of equal weights with the same concentration. Cash raises the number, and leverage lowers it. */
  readonly effective_assets: number;
  /** Securities with a position, long or short. */
  readonly gross_constituents: number;
  /** Maximum weight of a security; null if there is none. */
  readonly cap: number | null;
  /** Weight that was redistributed from capped securities. */
  readonly cap_redistributed: number;
  /** Trigger of a rebalance that was decided on that date: the schedule, a breach with `treatment.on_breach`, or a change of constituents by `events`. Null if there was no rebalance. */
  readonly cause: 'schedule' | 'breach' | 'replacement' | 'fast_entry' | 'fast_exit' | null;
  /** Rule that triggers rebalances of the index on a breach. */
  readonly limits?: PreviewLimits | undefined;
}

export interface WindowScenario {
  /** Display name. */
  readonly name: string;
  /** Past window. The return is that of a buy-and-hold portfolio from the close before `start` to the close of `end`. */
  readonly window: {
    /** First date. */
    readonly start: string;
    /** Last date. */
    readonly end: string;
  };
}

export interface WithholdingRates {
  /** Reference column of the store, such as COUNTRY. */
  readonly field: string;
  /** Fractions that are withheld, by the value of the field. */
  readonly rates: Readonly<Record<string, number>>;
  /** Fraction for values without a rate. Default: such a value is an error (NO_RATE). */
  readonly default?: number | undefined;
}

/** Figures of the weights with the estimates, and in the worst case of the uncertainty sets. */
export interface WorstCase {
  /** Objective with the estimates, in the measure of the objective. */
  readonly nominal: number;
  /** Smallest expected return in the uncertainty set, annualised and before costs; null without expected returns. */
  readonly expected_return: number | null;
  /** Largest volatility in the uncertainty set, annualised. */
  readonly volatility: number;
}

/** The input and the output of every operation. */
export interface Operations {
  /** Returns version, served data store, jobs, checks and limits. */
  getHealth: {
    request: Readonly<Record<never, never>>;
    answer: Health | PublicHealth;
  };
  /** Reports that the process is running. */
  getLiveness: {
    request: Readonly<Record<never, never>>;
    answer: Liveness;
  };
  /** Reports if the service accepts work. */
  getReadiness: {
    request: Readonly<Record<never, never>>;
    answer: Readiness;
  };
  /** Returns counters and gauges for Prometheus. */
  getMetrics: {
    request: Readonly<Record<never, never>>;
    answer: string;
  };
  /** Returns the release notes, newest first. */
  getChangelog: {
    request: { readonly query?: { readonly since?: string | undefined } | undefined };
    answer: ChangelogResponse;
  };
  /** Returns the caller and the permissions of its key. */
  getPrincipal: {
    request: Readonly<Record<never, never>>;
    answer: PrincipalView;
  };
  /** Returns the whole contract as an OpenAPI 3.1 document. */
  getOpenApi: {
    request: Readonly<Record<never, never>>;
    answer: OpenApiDocument;
  };
  /** Returns the API reference as an HTML page. */
  getDocumentation: {
    request: Readonly<Record<never, never>>;
    answer: string;
  };
  /** Returns the first page of the guide, which lists all pages. */
  getGuide: {
    request: { readonly query?: { readonly format?: 'html' | 'md' | undefined } | undefined };
    answer: string;
  };
  /** Returns one page of the guide. */
  getGuidePage: {
    request: { readonly params: { readonly page: string }; readonly query?: { readonly format?: 'html' | 'md' | undefined } | undefined };
    answer: string;
  };
  /** Returns an image of the guide. */
  getGuidePicture: {
    request: { readonly params: { readonly picture: string } };
    answer: Uint8Array;
  };
  /** Processes one JSON-RPC message of the Model Context Protocol, for agents. */
  callMcp: {
    request: { readonly query?: { readonly tools?: readonly ('jobs' | 'indices' | 'analytics' | 'optimise' | 'risk-models' | 'reports' | 'data' | 'documentation' | 'strategies' | 'derivatives' | 'stores' | 'watchlists' | 'calendars' | 'schedules' | 'governance' | 'clients' | 'actions' | 'approvals' | 'publication' | 'versions' | 'service' | 'all')[] | undefined } | undefined; readonly body: McpMessage };
    answer: unknown;
  };
  /** Lists jobs, newest first. */
  listJobs: {
    request: { readonly query?: { readonly kind?: readonly ('backtest' | 'optimise' | 'render' | 'risk' | 'validate' | 'sync' | 'load' | 'refresh' | 'generate' | 'sweep' | 'batch' | 'account' | 'rerun' | 'study' | 'simulate' | 'replay' | 'diff' | 'differences')[] | undefined; readonly status?: readonly ('pending' | 'running' | 'succeeded' | 'failed' | 'cancelled')[] | undefined; readonly limit?: number | undefined; readonly before?: string | undefined } | undefined };
    answer: JobCollection;
  };
  /** Streams the status of every job as server-sent events. */
  followJobs: {
    request: { readonly query?: { readonly seconds?: number | undefined } | undefined };
    answer: string;
  };
  /** Lists the kinds of jobs, and shows which kinds are paused. */
  listJobKinds: {
    request: Readonly<Record<never, never>>;
    answer: JobKindList;
  };
  /** Pauses all jobs of a kind. */
  pauseJobKind: {
    request: { readonly params: { readonly job_kind: 'backtest' | 'optimise' | 'render' | 'risk' | 'validate' | 'sync' | 'load' | 'refresh' | 'generate' | 'sweep' | 'batch' | 'account' | 'rerun' | 'study' | 'simulate' | 'replay' | 'diff' | 'differences' }; readonly body?: JobKindPause | null | undefined };
    answer: JobKindState;
  };
  /** Resumes the jobs of a kind. */
  resumeJobKind: {
    request: { readonly params: { readonly job_kind: 'backtest' | 'optimise' | 'render' | 'risk' | 'validate' | 'sync' | 'load' | 'refresh' | 'generate' | 'sweep' | 'batch' | 'account' | 'rerun' | 'study' | 'simulate' | 'replay' | 'diff' | 'differences' } };
    answer: JobKindState;
  };
  /** Returns the status of a job. After success, the response includes its result. */
  getJob: {
    request: { readonly params: { readonly job_id: string }; readonly query?: { readonly wait?: number | undefined } | undefined };
    answer: BacktestJobStatus | OptimisationJobStatus | RenderJobStatus | RiskModelJobStatus | SyncJobStatus | JobStatus;
  };
  /** Cancels a job. */
  cancelJob: {
    request: { readonly params: { readonly job_id: string } };
    answer: BacktestJobStatus | OptimisationJobStatus | RenderJobStatus | RiskModelJobStatus | SyncJobStatus | JobStatus;
  };
  /** Queues failed jobs again. */
  retryJobs: {
    request: { readonly body?: JobRetryRequest | null | undefined };
    answer: JobRetries;
  };
  /** Streams the status of a job as server-sent events. */
  followJob: {
    request: { readonly params: { readonly job_id: string } };
    answer: string;
  };
  /** Lists every exchange calendar that an index can use. */
  listCalendars: {
    request: Readonly<Record<never, never>>;
    answer: CalendarList;
  };
  /** Lists recent and upcoming rebalance dates of an index. */
  getSchedule: {
    request: { readonly params: { readonly index_id: string }; readonly query?: { readonly asof?: string | undefined; readonly as_of?: string | undefined; readonly limit?: number | undefined } | undefined };
    answer: ScheduleView;
  };
  /** Lists the events of all indices: announcements, effective dates, expiries, holidays and early closes. */
  listEvents: {
    request: { readonly query?: { readonly from?: string | undefined; readonly to?: string | undefined; readonly index_ids?: readonly string[] | undefined; readonly kinds?: readonly ('holiday' | 'early_close' | 'closure' | 'announcement' | 'effective' | 'expiry')[] | undefined; readonly format?: 'json' | 'ics' | undefined } | undefined };
    answer: EventsView;
  };
  /** Lists the calendars with recorded changes. */
  listClosures: {
    request: Readonly<Record<never, never>>;
    answer: CalendarClosuresCollection;
  };
  /** Returns the recorded changes of a calendar: unscheduled closures, half days, late openings, additional sessions. */
  getClosures: {
    request: { readonly params: { readonly calendar_code: string } };
    answer: CalendarClosures;
  };
  /** Records the changes of a calendar. They replace all changes recorded before. */
  putClosures: {
    request: { readonly params: { readonly calendar_code: string }; readonly body: ClosuresBody };
    answer: RecordedCalendarClosures;
  };
  /** Deletes the recorded changes of a calendar. Afterwards only its rules apply. */
  deleteClosures: {
    request: { readonly params: { readonly calendar_code: string }; readonly query?: { readonly purge?: boolean | undefined } | undefined };
    answer: null;
  };
  /** Lists the stored index definitions. */
  listIndices: {
    request: { readonly query?: { readonly limit?: number | undefined; readonly after?: string | undefined } | undefined };
    answer: IndexCollection;
  };
  /** Stores a new index definition. */
  createIndex: {
    request: { readonly body: IndexDocumentBody };
    answer: SavedIndex;
  };
  /** Lists every selection and weighting class with its parameters, and all other fields of a definition. */
  listRuleTypes: {
    request: Readonly<Record<never, never>>;
    answer: RuleTypes;
  };
  /** Lists every type of overlay with its formula, the source of the formula, and its parameters. */
  listOverlayTypes: {
    request: Readonly<Record<never, never>>;
    answer: OverlayTypes;
  };
  /** Lists the templates of published methodologies, with the data that each template requires and its availability in the served store. */
  listMethodologyTemplates: {
    request: { readonly query?: { readonly store_id?: string | undefined } | undefined };
    answer: MethodologyTemplateCollection;
  };
  /** Returns one published methodology as index documents that can be stored. */
  getMethodologyTemplate: {
    request: { readonly params: { readonly methodology_id: string }; readonly query?: { readonly index_id?: string | undefined; readonly base_date?: string | undefined; readonly store_id?: string | undefined } | undefined };
    answer: MethodologyTemplateDetail;
  };
  /** Computes the level of a published methodology on the served store over the last three years. Nothing is stored. */
  getMethodologyTemplateLevel: {
    request: { readonly params: { readonly methodology_id: string }; readonly query?: { readonly store_id?: string | undefined } | undefined };
    answer: MethodologyTemplateLevel;
  };
  /** Validates a definition. Nothing is stored. */
  validateIndex: {
    request: { readonly query?: { readonly store_id?: string | undefined } | undefined; readonly body: IndexDocumentBody };
    answer: ValidationReport;
  };
  /** Analyses an expression: its canonical text, its unit and the values of a few securities. */
  evaluateDatapoint: {
    request: { readonly query?: { readonly store_id?: string | undefined } | undefined; readonly body: DatapointRequest };
    answer: DatapointEvaluation;
  };
  /** Computes the composition of a definition on one date. Nothing is stored. */
  previewDocument: {
    request: { readonly query?: { readonly store_id?: string | undefined } | undefined; readonly body: PreviewDocumentRequest };
    answer: PreviewResponse;
  };
  /** Computes the level of a definition over the last three years. Nothing is stored. */
  sketchLevel: {
    request: { readonly query?: { readonly store_id?: string | undefined } | undefined; readonly body: LevelSketchRequest };
    answer: LevelSketch;
  };
  /** Computes the effect of a changed definition on one date. Nothing is stored. */
  whatIf: {
    request: { readonly query?: { readonly store_id?: string | undefined } | undefined; readonly body: WhatIfRequest };
    answer: WhatIfResponse;
  };
  /** Returns a stored definition, in the form that PUT accepts. */
  getIndex: {
    request: { readonly params: { readonly index_id: string }; readonly query?: { readonly on?: string | undefined } | undefined };
    answer: IndexDocument;
  };
  /** Stores or replaces a definition. */
  putIndex: {
    request: { readonly params: { readonly index_id: string }; readonly body: IndexDocumentBody };
    answer: SavedIndex;
  };
  /** Deletes a definition, the indices that depend on it, and all their results. */
  deleteIndex: {
    request: { readonly params: { readonly index_id: string }; readonly query?: { readonly purge?: boolean | undefined } | undefined };
    answer: IndexDeletion;
  };
  /** Computes the composition of a stored definition on one date. */
  previewIndex: {
    request: { readonly params: { readonly index_id: string }; readonly query?: { readonly store_id?: string | undefined } | undefined; readonly body?: PreviewRequest | null | undefined };
    answer: PreviewResponse;
  };
  /** Explains one weight. */
  explainName: {
    request: { readonly params: { readonly index_id: string; readonly identifier: string }; readonly query?: { readonly as_of?: string | undefined; readonly run_id?: string | undefined; readonly store_id?: string | undefined } | undefined };
    answer: IndexExplanation;
  };
  /** Returns the definition in numbered English sentences. */
  getMethodology: {
    request: { readonly params: { readonly index_id: string } };
    answer: Methodology;
  };
  /** Computes the orders that align accounts with an index: shares, lots, costs, days to trade, capacity. Nothing is stored. */
  packRebalance: {
    request: { readonly params: { readonly index_id: string }; readonly query?: { readonly store_id?: string | undefined; readonly format?: 'json' | 'csv' | 'arrow' | 'parquet' | 'xlsx' | undefined } | undefined; readonly body: RebalancePackRequest };
    answer: RebalancePack;
  };
  /** Runs a backtest of an index or a strategy as a job. */
  startBacktest: {
    request: { readonly params: { readonly index_id: string }; readonly query?: { readonly callback?: string | undefined; readonly priority?: 'high' | 'normal' | 'low' | undefined } | undefined; readonly body?: BacktestRequest | null | undefined };
    answer: BacktestJobStatus;
    unchanged: BacktestRunResult;
  };
  /** Runs backtests of many indices and strategies, each as a separate job. */
  startBacktests: {
    request: { readonly query?: { readonly callback?: string | undefined; readonly priority?: 'high' | 'normal' | 'low' | undefined } | undefined; readonly body: BacktestBatchRequest };
    answer: BacktestBatch;
  };
  /** Lists stored records by id. */
  listBacktests: {
    request: { readonly query?: { readonly limit?: number | undefined; readonly after?: string | undefined } | undefined };
    answer: BacktestRecordCollection;
  };
  /** Compares levels, figures and correlations of several stored runs on their common dates. */
  compareRuns: {
    request: { readonly query: { readonly ids: readonly RunOf[]; readonly benchmark?: string | undefined; readonly start?: string | undefined; readonly end?: string | undefined; readonly format?: 'json' | 'csv' | undefined } };
    answer: CompareView;
  };
  /** Returns the stored record of a run. */
  getRecord: {
    request: { readonly params: { readonly index_id: string }; readonly query?: { readonly run_id?: string | undefined } | undefined };
    answer: BacktestResultSummary;
  };
  /** Deletes the stored run. */
  deleteRecord: {
    request: { readonly params: { readonly index_id: string } };
    answer: null;
  };
  /** Returns level, metrics and concentration of a run. */
  getOverview: {
    request: { readonly params: { readonly index_id: string }; readonly query?: { readonly run_id?: string | undefined } | undefined };
    answer: OverviewView;
  };
  /** Returns the contributions of the securities to the return of a window. The contributions are linked, so that they add up to the return exactly. */
  getAttribution: {
    request: { readonly params: { readonly index_id: string }; readonly query?: { readonly run_id?: string | undefined; readonly start?: string | undefined; readonly end?: string | undefined } | undefined };
    answer: AttributionView;
  };
  /** Returns contributions by group, and allocation, selection and interaction against a benchmark index. */
  getGroupAttribution: {
    request: { readonly params: { readonly index_id: string }; readonly query?: { readonly run_id?: string | undefined; readonly by?: string | undefined; readonly benchmark?: string | undefined; readonly start?: string | undefined; readonly end?: string | undefined } | undefined };
    answer: GroupAttributionView;
  };
  /** Recomputes the accounting identities of the stored run. */
  reconcileRun: {
    request: { readonly params: { readonly index_id: string }; readonly query?: { readonly run_id?: string | undefined } | undefined };
    answer: ReconciliationView;
  };
  /** Returns one security of a run: its price, its weights, and its correlation with the run. */
  getRunAsset: {
    request: { readonly params: { readonly index_id: string; readonly identifier: string }; readonly query?: { readonly run_id?: string | undefined } | undefined };
    answer: AssetView;
  };
  /** Returns the holdings of the index on a date, with concentration, drift and risk. */
  getWeights: {
    request: { readonly params: { readonly index_id: string }; readonly query?: { readonly run_id?: string | undefined; readonly as_of?: string | undefined; readonly benchmark?: string | undefined; readonly risk?: boolean | undefined; readonly risk_model?: string | undefined; readonly risk_estimator?: 'shrinkage' | 'nonlinear' | 'gerber' | 'denoised' | 'newey_west' | 'statistical' | 'industries' | 'styles' | undefined } | undefined };
    answer: WeightsView;
  };
  /** Splits the active variance against a benchmark index into factor risk and specific risk. */
  getFactorRisk: {
    request: { readonly params: { readonly index_id: string }; readonly query: { readonly run_id?: string | undefined; readonly as_of?: string | undefined; readonly benchmark: string; readonly model?: 'market_sector' | 'statistical' | 'industries' | 'styles' | undefined; readonly risk_model?: string | undefined; readonly risk_estimator?: 'statistical' | 'industries' | 'styles' | undefined; readonly factors?: number | undefined } };
    answer: RiskDecomposition;
  };
  /** Splits the total variance of the holdings into factor risk and specific risk. */
  getTotalRisk: {
    request: { readonly params: { readonly index_id: string }; readonly query?: { readonly run_id?: string | undefined; readonly as_of?: string | undefined; readonly model?: 'market_sector' | 'statistical' | 'industries' | 'styles' | undefined; readonly risk_model?: string | undefined; readonly risk_estimator?: 'statistical' | 'industries' | 'styles' | undefined; readonly factors?: number | undefined } | undefined };
    answer: TotalRiskDecomposition;
  };
  /** Attributes the return of a run to market, sectors and styles. */
  getFactorAttribution: {
    request: { readonly params: { readonly index_id: string }; readonly query?: { readonly run_id?: string | undefined; readonly model?: 'styles' | 'market_sector' | undefined; readonly start?: string | undefined; readonly end?: string | undefined } | undefined };
    answer: FactorAttributionView;
  };
  /** Returns the index levels of a run in any return variant, with the divisor. */
  getLevels: {
    request: { readonly params: { readonly index_id: string }; readonly query?: { readonly run_id?: string | undefined; readonly variant?: 'price' | 'total' | 'net' | undefined; readonly start?: string | undefined; readonly end?: string | undefined } | undefined };
    answer: LevelsView;
  };
  /** Lists the stored runs of an index or strategy, newest first. */
  listRuns: {
    request: { readonly params: { readonly index_id: string }; readonly query?: { readonly limit?: number | undefined; readonly before?: string | undefined } | undefined };
    answer: StoredRuns;
  };
  /** Explains the differences between two stored runs, as a job. */
  diffRuns: {
    request: { readonly params: { readonly index_id: string }; readonly query?: { readonly callback?: string | undefined; readonly priority?: 'high' | 'normal' | 'low' | undefined } | undefined; readonly body: RunsDifferenceRequest };
    answer: RunsDifferenceJobStatus;
  };
  /** Returns level, returns, volatility and rebalances of every stored run, one row per run. */
  listSummaries: {
    request: { readonly query?: { readonly limit?: number | undefined; readonly after?: string | undefined } | undefined };
    answer: RunSummaryCollection;
  };
  /** Returns levels, drawdown, returns and figures of a run over a window. */
  getPerformance: {
    request: { readonly params: { readonly index_id: string }; readonly query?: { readonly run_id?: string | undefined; readonly start?: string | undefined; readonly end?: string | undefined; readonly of?: 'portfolio' | 'index' | undefined; readonly variant?: 'price' | 'total' | 'net' | undefined } | undefined };
    answer: PerformanceView;
  };
  /** Lists every rebalance of a run with its changes, turnover and cost. */
  listRebalances: {
    request: { readonly params: { readonly index_id: string }; readonly query?: { readonly run_id?: string | undefined } | undefined };
    answer: RebalanceList;
  };
  /** Returns one rebalance of a run by security: weights before and after, and trades. */
  getRebalance: {
    request: { readonly params: { readonly index_id: string; readonly date: string }; readonly query?: { readonly run_id?: string | undefined } | undefined };
    answer: RebalanceView;
  };
  /** Returns the effects of past and coming corporate actions on an index: weight, shares and divisor before and after. */
  getIndexActions: {
    request: { readonly params: { readonly index_id: string }; readonly query?: { readonly run_id?: string | undefined; readonly from?: string | undefined; readonly to?: string | undefined; readonly table?: 'actions' | 'constituents' | undefined; readonly format?: 'json' | 'csv' | undefined } | undefined };
    answer: ActionsView;
  };
  /** Returns ordinary dividends in index points by session and year, the yield, and announced dividends. */
  getDividendPoints: {
    request: { readonly params: { readonly index_id: string }; readonly query?: { readonly run_id?: string | undefined; readonly start?: string | undefined; readonly end?: string | undefined } | undefined };
    answer: DividendPointsView;
  };
  /** Returns weights by group and averages of datapoints over time, with concentration and turnover. */
  getExposures: {
    request: { readonly params: { readonly index_id: string }; readonly query?: { readonly run_id?: string | undefined; readonly by?: string | undefined; readonly groups?: number | undefined; readonly interval?: 'native' | 'weekly' | 'monthly' | undefined; readonly fields?: readonly string[] | undefined; readonly benchmark?: string | undefined; readonly table?: 'groups' | 'fields' | 'concentration' | undefined; readonly start?: string | undefined; readonly end?: string | undefined; readonly format?: 'json' | 'csv' | 'arrow' | 'parquet' | 'xlsx' | undefined } | undefined };
    answer: ExposuresView;
  };
  /** Checks a published concentration rule on every session, and returns headroom, breaches and their causes. */
  getLimits: {
    request: { readonly params: { readonly index_id: string }; readonly query?: { readonly run_id?: string | undefined; readonly rule?: 'UCITS_5_10_40' | 'UCITS_20_35' | 'RIC_25_5_50' | 'SEC_75_5_10' | undefined; readonly by?: string | undefined; readonly table?: 'state' | 'rows' | 'breaches' | undefined; readonly start?: string | undefined; readonly end?: string | undefined; readonly format?: 'json' | 'csv' | 'arrow' | 'parquet' | 'xlsx' | undefined } | undefined };
    answer: LimitsView;
  };
  /** Checks constraints on every session of a run. */
  watchLimits: {
    request: { readonly params: { readonly index_id: string }; readonly query?: { readonly run_id?: string | undefined; readonly table?: 'state' | 'rows' | 'breaches' | undefined; readonly start?: string | undefined; readonly end?: string | undefined; readonly format?: 'json' | 'csv' | 'arrow' | 'parquet' | 'xlsx' | undefined } | undefined; readonly body: LimitsRequest };
    answer: LimitsView;
  };
  /** Returns the return of the composition of a run in historical windows and under shocks, by security and group. Nothing is stored. */
  runScenarios: {
    request: { readonly params: { readonly index_id: string }; readonly query?: { readonly run_id?: string | undefined; readonly table?: 'scenarios' | 'names' | 'groups' | 'sessions' | undefined; readonly format?: 'json' | 'csv' | 'arrow' | 'parquet' | 'xlsx' | undefined } | undefined; readonly body: ScenarioRequest };
    answer: ScenariosView;
  };
  /** Returns a table of a run as a file, with its whole history. */
  exportRun: {
    request: { readonly params: { readonly index_id: string; readonly table: 'levels' | 'weights' | 'constituents' | 'closing' | 'opening' | 'proforma' | 'rebalances' | 'trades' | 'attribution' | 'events' | 'exposures' | 'limits' | 'breaches' | 'risk' }; readonly query?: { readonly run_id?: string | undefined; readonly as_known_on?: string | undefined; readonly start?: string | undefined; readonly end?: string | undefined; readonly date?: string | undefined; readonly by?: string | undefined; readonly format?: 'json' | 'csv' | 'arrow' | 'parquet' | 'xlsx' | undefined } | undefined };
    answer: ExportView;
  };
  /** Runs an SQL query on runs, prices and reference data. */
  runSql: {
    request: { readonly query?: { readonly store_id?: string | undefined; readonly format?: 'json' | 'csv' | 'arrow' | 'parquet' | undefined } | undefined; readonly body: SqlRequest };
    answer: SqlResult;
  };
  /** Lists the stored constraint sets, by id. */
  listConstraintSets: {
    request: { readonly query?: { readonly limit?: number | undefined; readonly after?: string | undefined } | undefined };
    answer: ConstraintSetCollection;
  };
  /** Stores a new constraint set. */
  createConstraintSet: {
    request: { readonly body: ConstraintSetBody };
    answer: SavedConstraintSet;
  };
  /** Validates a constraint set. Nothing is stored. */
  validateConstraintSet: {
    request: { readonly query?: { readonly store_id?: string | undefined } | undefined; readonly body: ConstraintSetBody };
    answer: ValidationReport;
  };
  /** Returns a stored constraint set, in the form that PUT accepts. */
  getConstraintSet: {
    request: { readonly params: { readonly constraint_set_id: string } };
    answer: ConstraintSet;
  };
  /** Stores or replaces a constraint set. */
  putConstraintSet: {
    request: { readonly params: { readonly constraint_set_id: string }; readonly body: ConstraintSetBody };
    answer: SavedConstraintSet;
  };
  /** Deletes a constraint set. */
  deleteConstraintSet: {
    request: { readonly params: { readonly constraint_set_id: string }; readonly query?: { readonly purge?: boolean | undefined } | undefined };
    answer: null;
  };
  /** Lists every constraint class with its parameters. */
  listConstraintTypes: {
    request: Readonly<Record<never, never>>;
    answer: ConstraintTypes;
  };
  /** Lists every objective and every model of expected returns with its parameters. */
  listObjectiveTypes: {
    request: Readonly<Record<never, never>>;
    answer: ObjectiveTypes;
  };
  /** Optimises the weights of an index under a constraint set, as a job. */
  startOptimisation: {
    request: { readonly query?: { readonly callback?: string | undefined; readonly priority?: 'high' | 'normal' | 'low' | undefined; readonly store_id?: string | undefined } | undefined; readonly body: OptimisationRunRequest };
    answer: OptimisationJobStatus;
  };
  /** Computes the weights of an optimisation without a job. Nothing is stored. */
  previewOptimisation: {
    request: { readonly query?: { readonly store_id?: string | undefined } | undefined; readonly body: OptimisationPreviewRequest };
    answer: PreviewResponse;
  };
  /** Returns the result of a finished optimisation. */
  getOptimisation: {
    request: { readonly params: { readonly run_id: string } };
    answer: OptimisationRunResult;
  };
  /** Stores a new index that is optimised relative to this index at each rebalance. */
  optimiseIndex: {
    request: { readonly params: { readonly index_id: string }; readonly body: OptimiseRequest };
    answer: SavedIndex;
  };
  /** Lists the stored risk models, by id. */
  listRiskModels: {
    request: { readonly query?: { readonly limit?: number | undefined; readonly after?: string | undefined } | undefined };
    answer: RiskModelCollection;
  };
  /** Returns a risk model with its matrices. */
  getRiskModel: {
    request: { readonly params: { readonly model_id: string }; readonly query?: { readonly date?: string | undefined; readonly format?: 'json' | 'arrow' | undefined } | undefined };
    answer: RiskModelView;
  };
  /** Deletes a risk model. */
  deleteRiskModel: {
    request: { readonly params: { readonly model_id: string } };
    answer: null;
  };
  /** Estimates a risk model as a job. */
  estimateRiskModel: {
    request: { readonly params: { readonly model_id: string }; readonly query?: { readonly callback?: string | undefined; readonly priority?: 'high' | 'normal' | 'low' | undefined; readonly store_id?: string | undefined } | undefined; readonly body?: RiskModelRequest | null | undefined };
    answer: RiskModelJobStatus;
  };
  /** Validates the forecasts of a risk model over history, as a job. */
  validateRiskModel: {
    request: { readonly params: { readonly model_id: string }; readonly query?: { readonly callback?: string | undefined; readonly priority?: 'high' | 'normal' | 'low' | undefined; readonly store_id?: string | undefined } | undefined; readonly body?: RiskValidationRequest | null | undefined };
    answer: RiskValidationJobStatus;
  };
  /** Imports a risk model. */
  importRiskModel: {
    request: { readonly params: { readonly model_id: string }; readonly query?: { readonly units?: 'annual' | 'daily' | undefined; readonly annualisation?: number | undefined; readonly repair?: boolean | undefined; readonly date?: string | undefined; readonly store_id?: string | undefined } | undefined; readonly body: RiskModelImportInput };
    answer: RiskModelImportResult;
  };
  /** Returns a risk model in the form of an import. */
  exportRiskModel: {
    request: { readonly params: { readonly model_id: string } };
    answer: RiskModelImport;
  };
  /** Repeats a stored run as a job, and reports whether the results are equal. */
  replayRun: {
    request: { readonly params: { readonly index_id: string }; readonly query?: { readonly run_id?: string | undefined; readonly callback?: string | undefined; readonly priority?: 'high' | 'normal' | 'low' | undefined } | undefined; readonly body?: Readonly<Record<string, never>> | null | undefined };
    answer: ReplayJobStatus;
  };
  /** Runs many variants of an index and ranks them, as one job. */
  startSweep: {
    request: { readonly query?: { readonly callback?: string | undefined; readonly priority?: 'high' | 'normal' | 'low' | undefined } | undefined; readonly body: SweepRequest };
    answer: SweepJobStatus;
  };
  /** Returns the rows of a sweep in blocks. */
  getSweepRows: {
    request: { readonly params: { readonly sweep_id: string }; readonly query?: { readonly block?: number | undefined } | undefined };
    answer: SweepRows;
  };
  /** Lists the results of finished batches, newest first. */
  listBatches: {
    request: { readonly query?: { readonly limit?: number | undefined } | undefined };
    answer: BatchCollection;
  };
  /** Computes the trades of many accounts with tax lots that follow an index, as one job on all nodes. */
  startBatch: {
    request: { readonly query?: { readonly terms?: string | undefined; readonly batch_id?: string | undefined; readonly callback?: string | undefined; readonly priority?: 'high' | 'normal' | 'low' | undefined; readonly store_id?: string | undefined } | undefined; readonly body: BatchRequest };
    answer: BatchJobStatus;
  };
  /** Returns a table of accounts as CSV, with every column and two example accounts. */
  getBatchTemplate: {
    request: Readonly<Record<never, never>>;
    answer: string;
  };
  /** Returns the results of a batch in blocks of 100 accounts. */
  getBatchAccounts: {
    request: { readonly params: { readonly batch_id: string }; readonly query?: { readonly block?: number | undefined; readonly table?: 'accounts' | 'trades' | undefined; readonly format?: 'json' | 'csv' | 'arrow' | 'parquet' | 'xlsx' | undefined } | undefined };
    answer: BatchAccounts;
  };
  /** Returns the data that all accounts of a batch use: prices, weights of the parent, and risk model. */
  getBatchCommon: {
    request: { readonly params: { readonly batch_id: string } };
    answer: BatchCommonData;
  };
  /** Run one account with tax lots over the history of an index, after tax. */
  backtestAccount: {
    request: { readonly params: { readonly index_id: string }; readonly query?: { readonly callback?: string | undefined; readonly priority?: 'high' | 'normal' | 'low' | undefined; readonly store_id?: string | undefined } | undefined; readonly body: AccountBacktestRequest };
    answer: AccountBacktestJobStatus;
  };
  /** Runs all indices and strategies with a stale run again, as one job. */
  startRerun: {
    request: { readonly query?: { readonly callback?: string | undefined; readonly priority?: 'high' | 'normal' | 'low' | undefined } | undefined; readonly body: RerunRequest };
    answer: RerunJobStatus;
  };
  /** Returns the rows of a rerun in blocks. */
  getRerunRows: {
    request: { readonly params: { readonly rerun_id: string }; readonly query?: { readonly block?: number | undefined } | undefined };
    answer: RerunRows;
  };
  /** Runs many optimisations as one job on all nodes. */
  startStudy: {
    request: { readonly query?: { readonly callback?: string | undefined; readonly priority?: 'high' | 'normal' | 'low' | undefined; readonly store_id?: string | undefined } | undefined; readonly body: StudyRequest };
    answer: StudyJobStatus;
  };
  /** Returns the rows of a study in blocks. */
  getStudyRows: {
    request: { readonly params: { readonly study_id: string }; readonly query?: { readonly block?: number | undefined } | undefined };
    answer: StudyRows;
  };
  /** Simulates the future level of a stored run, as a job. */
  simulateIndex: {
    request: { readonly params: { readonly index_id: string }; readonly query?: { readonly run_id?: string | undefined; readonly callback?: string | undefined; readonly priority?: 'high' | 'normal' | 'low' | undefined } | undefined; readonly body?: SimulationRequest | null | undefined };
    answer: SimulationJobStatus;
  };
  /** Explains why a level from outside differs from a stored run, as a job. */
  explainDifference: {
    request: { readonly params: { readonly index_id: string }; readonly query?: { readonly run_id?: string | undefined; readonly callback?: string | undefined; readonly priority?: 'high' | 'normal' | 'low' | undefined } | undefined; readonly body: DifferencesRequest };
    answer: DifferencesJobStatus;
  };
  /** Returns volatility, tracking error, beta and correlation of a run over time. */
  getRollingRisk: {
    request: { readonly params: { readonly index_id: string }; readonly query?: { readonly run_id?: string | undefined; readonly window?: number | undefined; readonly against?: 'index' | 'benchmark' | undefined; readonly benchmark?: string | undefined; readonly half_life?: number | undefined } | undefined };
    answer: RollingRiskView;
  };
  /** Renders a template as a PDF, as a job. */
  renderReport: {
    request: { readonly query?: { readonly callback?: string | undefined; readonly priority?: 'high' | 'normal' | 'low' | undefined } | undefined; readonly body: RenderRequest };
    answer: RenderJobStatus;
  };
  /** Finished renders, newest first. */
  listRenders: {
    request: { readonly query?: { readonly index_id?: string | undefined; readonly template_id?: string | undefined; readonly limit?: number | undefined; readonly before?: string | undefined } | undefined };
    answer: RenderCollection;
  };
  /** Returns a rendered report. */
  getRender: {
    request: { readonly params: { readonly render_id: string } };
    answer: Uint8Array;
  };
  /** Deletes a rendered report. */
  deleteRender: {
    request: { readonly params: { readonly render_id: string } };
    answer: null;
  };
  /** Lists the stored report templates, and the ids of the built-in templates. */
  listTemplates: {
    request: { readonly query?: { readonly limit?: number | undefined; readonly after?: string | undefined } | undefined };
    answer: ReportTemplateCollection;
  };
  /** Returns a report template, in the form that PUT accepts. */
  getTemplate: {
    request: { readonly params: { readonly template_id: string } };
    answer: ReportTemplateDocument;
  };
  /** Stores or replaces a report template. */
  putTemplate: {
    request: { readonly params: { readonly template_id: string }; readonly body: ReportTemplateDocumentInput };
    answer: SavedReportTemplate;
  };
  /** Deletes a report template. Its rendered reports are kept. */
  deleteTemplate: {
    request: { readonly params: { readonly template_id: string }; readonly query?: { readonly purge?: boolean | undefined } | undefined };
    answer: null;
  };
  /** Computes the fair value, carry and sensitivities of an index future. */
  priceFutures: {
    request: { readonly body: FuturesPriceRequest };
    answer: FuturesPriceResponse;
  };
  /** Computes the value, par spread and sensitivities of a total return swap. */
  priceTrs: {
    request: { readonly body: TrsPriceRequest };
    answer: TrsPriceResponse;
  };
  /** Computes the cost of rolling between two expiries, on the latest stored run. */
  getRoll: {
    request: { readonly params: { readonly index_id: string }; readonly query: { readonly front_expiry: string; readonly back_expiry: string; readonly as_of?: string | undefined; readonly risk_free_rate?: number | undefined; readonly dividend_yield?: number | undefined; readonly borrow_rate?: number | undefined; readonly dividends?: readonly string[] | undefined; readonly dividend_source?: 'given' | 'announced' | undefined } };
    answer: RollResponse;
  };
  /** Computes fair values for several expiries, on the latest stored run. */
  getTermStructure: {
    request: { readonly params: { readonly index_id: string }; readonly query: { readonly expiries: readonly string[]; readonly as_of?: string | undefined; readonly risk_free_rate?: number | undefined; readonly dividend_yield?: number | undefined; readonly borrow_rate?: number | undefined; readonly dividends?: readonly string[] | undefined; readonly dividend_source?: 'given' | 'announced' | undefined } };
    answer: TermStructureResponse;
  };
  /** Lists the stored strategies, each with its problems. */
  listStrategies: {
    request: { readonly query?: { readonly limit?: number | undefined; readonly after?: string | undefined } | undefined };
    answer: StrategyCollection;
  };
  /** Stores a new strategy. */
  createStrategy: {
    request: { readonly body: StrategyDocumentInput };
    answer: SavedStrategy;
  };
  /** Validates a strategy in the same way as a save. Nothing is stored. */
  validateStrategy: {
    request: { readonly body: StrategyDocumentInput };
    answer: ValidationReport;
  };
  /** Returns a stored strategy. */
  getStrategy: {
    request: { readonly params: { readonly strategy_id: string } };
    answer: StoredStrategy;
  };
  /** Stores or replaces a strategy. */
  putStrategy: {
    request: { readonly params: { readonly strategy_id: string }; readonly body: StrategyDocumentInput };
    answer: SavedStrategy;
  };
  /** Deletes a strategy, its stored runs and all results of its backtests. */
  deleteStrategy: {
    request: { readonly params: { readonly strategy_id: string }; readonly query?: { readonly purge?: boolean | undefined } | undefined };
    answer: StrategyDeletion;
  };
  /** Lists all data stores, and the served store. */
  listStores: {
    request: { readonly query?: { readonly limit?: number | undefined; readonly after?: string | undefined } | undefined };
    answer: DataStoreCollection;
  };
  /** Registers a folder or database. The service reads all of its data first. */
  createStore: {
    request: { readonly body: DataStoreCreate };
    answer: DataStore;
  };
  /** Returns one data store. */
  getStore: {
    request: { readonly params: { readonly store_id: string } };
    answer: DataStore;
  };
  /** Renames a store, or changes its source, price basis or currency. */
  updateStore: {
    request: { readonly params: { readonly store_id: string }; readonly body: DataStoreUpdate };
    answer: DataStore;
  };
  /** Deletes a store. The folder of a managed store is also deleted. */
  deleteStore: {
    request: { readonly params: { readonly store_id: string }; readonly query?: { readonly purge?: boolean | undefined } | undefined };
    answer: null;
  };
  /** Reads a store again and serves it. */
  activateStore: {
    request: { readonly params: { readonly store_id: string }; readonly query?: { readonly callback?: string | undefined; readonly priority?: 'high' | 'normal' | 'low' | undefined } | undefined };
    answer: LoadJobStatus;
  };
  /** Refreshes a store from its source. */
  refreshStore: {
    request: { readonly params: { readonly store_id: string }; readonly query?: { readonly callback?: string | undefined; readonly priority?: 'high' | 'normal' | 'low' | undefined } | undefined; readonly body?: RefreshRequest | null | undefined };
    answer: RefreshJobStatus;
  };
  /** Refreshes the served store. */
  syncData: {
    request: { readonly query?: { readonly callback?: string | undefined; readonly priority?: 'high' | 'normal' | 'low' | undefined } | undefined; readonly body?: RefreshRequest | null | undefined };
    answer: SyncJobStatus;
  };
  /** Lists probable errors in the data of a store. */
  auditStore: {
    request: { readonly params: { readonly store_id: string } };
    answer: DataAudit;
  };
  /** Writes a new store with the selected repairs. The original store does not change. */
  repairStore: {
    request: { readonly params: { readonly store_id: string }; readonly body: RepairRequest };
    answer: ImportResult;
  };
  /** Inspects data and proposes the mapping to read it. */
  inspectData: {
    request: { readonly body: InspectRequest };
    answer: InspectResult;
  };
  /** Writes tables or an uploaded file into a new store. */
  importStore: {
    request: { readonly query?: { readonly name?: string | undefined; readonly store_id?: string | undefined; readonly dataset?: 'market' | 'reference' | 'corporate_actions' | 'universes' | 'series' | undefined; readonly adjustment?: 'none' | 'splits' | 'total' | undefined; readonly currency?: string | undefined; readonly mapping?: string | undefined; readonly activate?: boolean | undefined; readonly on_exists?: 'refuse' | 'replace' | 'append' | undefined } | undefined; readonly body: ImportRequest };
    answer: ImportResult;
  };
  /** Returns an import template with one example row per sheet. */
  getImportTemplate: {
    request: { readonly query?: { readonly format?: 'xlsx' | 'csv.zip' | 'csv' | undefined } | undefined };
    answer: Uint8Array;
  };
  /** Generates a synthetic market into a new store and serves it. */
  generateSynthetic: {
    request: { readonly query?: { readonly callback?: string | undefined; readonly priority?: 'high' | 'normal' | 'low' | undefined } | undefined; readonly body?: GenerateSyntheticRequest | null | undefined };
    answer: GenerateJobStatus;
  };
  /** Lists the prices of a store that people have overridden. */
  listPriceOverrides: {
    request: { readonly params: { readonly store_id: string } };
    answer: PriceOverrides;
  };
  /** Overrides a price of a store, or withdraws the override. */
  overridePrice: {
    request: { readonly params: { readonly store_id: string }; readonly body: PriceOverrideRequest };
    answer: ChangedOverrides;
  };
  /** Lists the versions of the data of a store that were served, newest first. */
  listDataVersions: {
    request: { readonly params: { readonly store_id: string }; readonly query?: { readonly limit?: number | undefined; readonly before?: number | undefined } | undefined };
    answer: DataVersions;
  };
  /** Lists the values that differ between two versions of the data. */
  diffDataVersions: {
    request: { readonly params: { readonly store_id: string }; readonly query: { readonly from: number; readonly to: number; readonly limit?: number | undefined; readonly appended?: boolean | undefined } };
    answer: DataDifference;
  };
  /** Returns market data of one security, or the values of a series. */
  getPrices: {
    request: { readonly params: { readonly identifier: string }; readonly query?: { readonly as_known_on?: string | undefined; readonly start?: string | undefined; readonly end?: string | undefined; readonly interval?: 'native' | 'weekly' | 'monthly' | undefined; readonly columns?: readonly string[] | undefined; readonly adjust?: 'none' | 'splits' | 'total' | undefined; readonly store_id?: string | undefined; readonly format?: 'json' | 'csv' | 'arrow' | undefined } | undefined };
    answer: PricesResponse;
  };
  /** Returns reference data and derived figures of many securities on one date. */
  getAssetReferences: {
    request: { readonly query: { readonly as_known_on?: string | undefined; readonly identifiers: readonly string[]; readonly fields?: readonly string[] | undefined; readonly as_of?: string | undefined; readonly store_id?: string | undefined; readonly format?: 'json' | 'csv' | undefined } };
    answer: BatchReferenceResponse;
  };
  /** Returns reference data and universes of one security. */
  getAssetReference: {
    request: { readonly params: { readonly identifier: string }; readonly query?: { readonly as_of?: string | undefined; readonly as_known_on?: string | undefined; readonly store_id?: string | undefined } | undefined };
    answer: ReferenceResponse;
  };
  /** Lists the corporate actions of one security, with their sums. */
  getCorporateActions: {
    request: { readonly params: { readonly identifier: string }; readonly query?: { readonly as_known_on?: string | undefined; readonly start?: string | undefined; readonly end?: string | undefined; readonly as_of?: string | undefined; readonly store_id?: string | undefined } | undefined };
    answer: CorporateActionsResponse;
  };
  /** Returns the datasets of the served store and their age. */
  getCoverage: {
    request: { readonly query?: { readonly store_id?: string | undefined } | undefined };
    answer: CoverageResponse;
  };
  /** Returns the number of securities of the served store with a price on each date, and the expected number. */
  getCoverageHistory: {
    request: { readonly query?: { readonly store_id?: string | undefined } | undefined };
    answer: CoverageHistoryResponse;
  };
  /** Returns the status of the data source. */
  getDataSource: {
    request: { readonly query?: { readonly store_id?: string | undefined } | undefined };
    answer: DataSourceStatus;
  };
  /** Lists the fields that rules can read in the served store, its universes, and the values of a new index. */
  listFields: {
    request: { readonly query?: { readonly store_id?: string | undefined } | undefined };
    answer: FieldList;
  };
  /** Lists the series of the served store. A series is never a constituent. */
  listSeries: {
    request: { readonly query?: { readonly q?: string | undefined; readonly limit?: number | undefined; readonly after?: string | undefined; readonly store_id?: string | undefined } | undefined };
    answer: SeriesCollection;
  };
  /** Searches the securities of the served store by identifier or name. */
  searchIdentifiers: {
    request: { readonly query?: { readonly q?: string | undefined; readonly limit?: number | undefined; readonly after?: string | undefined; readonly store_id?: string | undefined } | undefined };
    answer: IdentifierSearch;
  };
  /** Lists the clients that receive files. */
  listClients: {
    request: { readonly query?: { readonly limit?: number | undefined; readonly after?: string | undefined; readonly index_id?: string | undefined } | undefined };
    answer: ClientCollection;
  };
  /** Returns one client with its entitlements and targets. */
  getClient: {
    request: { readonly params: { readonly client_id: string } };
    answer: Client;
  };
  /** Creates or replaces a client with its entitlements and targets. */
  putClient: {
    request: { readonly params: { readonly client_id: string }; readonly body: ClientBody };
    answer: Client;
  };
  /** Deletes a client and its secrets. Past deliveries remain listed. */
  deleteClient: {
    request: { readonly params: { readonly client_id: string }; readonly query?: { readonly purge?: boolean | undefined } | undefined };
    answer: null;
  };
  /** Lists the files that a client has received or will receive, by day, with the log of attempts. */
  listDeliveries: {
    request: { readonly params: { readonly client_id: string }; readonly query?: { readonly schedule_id?: string | undefined; readonly before?: string | undefined; readonly limit?: number | undefined } | undefined };
    answer: Deliveries;
  };
  /** Every watchlist. */
  listWatchlists: {
    request: { readonly query?: { readonly limit?: number | undefined; readonly after?: string | undefined; readonly store_id?: string | undefined } | undefined };
    answer: WatchlistCollection;
  };
  /** One watchlist. */
  getWatchlist: {
    request: { readonly params: { readonly watchlist_id: string }; readonly query?: { readonly store_id?: string | undefined } | undefined };
    answer: Watchlist;
  };
  /** Creates or replaces a watchlist. */
  putWatchlist: {
    request: { readonly params: { readonly watchlist_id: string }; readonly body: WatchlistUpsert };
    answer: Watchlist;
  };
  /** Deletes a watchlist. */
  deleteWatchlist: {
    request: { readonly params: { readonly watchlist_id: string }; readonly query?: { readonly purge?: boolean | undefined } | undefined };
    answer: null;
  };
  /** Every plug-in. */
  listPlugins: {
    request: { readonly query?: { readonly limit?: number | undefined; readonly after?: string | undefined } | undefined };
    answer: PluginCollection;
  };
  /** One plug-in. */
  getPlugin: {
    request: { readonly params: { readonly plugin_id: string } };
    answer: Plugin;
  };
  /** Creates or replaces a plug-in. */
  putPlugin: {
    request: { readonly params: { readonly plugin_id: string }; readonly body: PluginUpsert };
    answer: Plugin;
  };
  /** Deletes a plug-in. */
  deletePlugin: {
    request: { readonly params: { readonly plugin_id: string }; readonly query?: { readonly purge?: boolean | undefined } | undefined };
    answer: null;
  };
  /** Computes the values of a plug-in on one date. Nothing is stored. */
  previewPlugin: {
    request: { readonly query?: { readonly store_id?: string | undefined } | undefined; readonly body: PluginPreviewRequest };
    answer: PluginPreview;
  };
  /** Every schedule. */
  listSchedules: {
    request: { readonly query?: { readonly limit?: number | undefined; readonly after?: string | undefined; readonly days?: number | undefined } | undefined };
    answer: ScheduleCollection;
  };
  /** One schedule. */
  getSchedulePlan: {
    request: { readonly params: { readonly schedule_id: string } };
    answer: Schedule;
  };
  /** Creates or replaces the daily plan of an index family. */
  putSchedule: {
    request: { readonly params: { readonly schedule_id: string }; readonly body: ScheduleBody };
    answer: Schedule;
  };
  /** Deletes a schedule. Its days and decisions are kept. */
  deleteSchedule: {
    request: { readonly params: { readonly schedule_id: string }; readonly query?: { readonly purge?: boolean | undefined } | undefined };
    answer: null;
  };
  /** Lists the days of a schedule, and returns the start of the next day. */
  listScheduleDays: {
    request: { readonly params: { readonly schedule_id: string }; readonly query?: { readonly limit?: number | undefined; readonly before?: string | undefined } | undefined };
    answer: ScheduleDays;
  };
  /** Returns a day of a schedule: each step with its results, log and duration. */
  getScheduleDay: {
    request: { readonly params: { readonly schedule_id: string; readonly date: string }; readonly query?: { readonly wait?: number | undefined } | undefined };
    answer: ScheduleDay;
  };
  /** Returns a file that a step of the day has written. */
  getScheduleFile: {
    request: { readonly params: { readonly schedule_id: string; readonly date: string; readonly file_name: string } };
    answer: Uint8Array;
  };
  /** Lists the files of the day by client and target, with the log of attempts. */
  listDayDeliveries: {
    request: { readonly params: { readonly schedule_id: string; readonly date: string } };
    answer: Deliveries;
  };
  /** Performs a day at once, with the current schedule. */
  runScheduleDay: {
    request: { readonly params: { readonly schedule_id: string; readonly date: string }; readonly body?: DayRun | null | undefined };
    answer: ScheduleDay;
  };
  /** Accepts findings of a check on a day, with a reason, and resumes the day at once. */
  waiveScheduleCheck: {
    request: { readonly params: { readonly schedule_id: string; readonly date: string }; readonly body: DayWaiver };
    answer: ScheduleDay;
  };
  /** Ends an unfinished day, with a reason. */
  skipScheduleDay: {
    request: { readonly params: { readonly schedule_id: string; readonly date: string }; readonly body: DaySkip };
    answer: ScheduleDay;
  };
  /** Performs the days of a range of sessions, oldest first. */
  backfillSchedule: {
    request: { readonly params: { readonly schedule_id: string }; readonly body: DayBackfill };
    answer: BackfilledDays;
  };
  /** Lists the register of the decisions about the days of a schedule, with their reasons. */
  listJudgements: {
    request: { readonly params: { readonly schedule_id: string }; readonly query?: { readonly limit?: number | undefined } | undefined };
    answer: Judgements;
  };
  /** Returns the number of entries of each register, and the published closes and errors of each index. */
  getGovernance: {
    request: Readonly<Record<never, never>>;
    answer: GovernanceOverview;
  };
  /** Returns the benchmark statement of an index, which is generated from its documents and registers. */
  getStatement: {
    request: { readonly params: { readonly index_id: string }; readonly query?: { readonly format?: 'json' | 'md' | undefined } | undefined };
    answer: BenchmarkStatement;
  };
  /** Lists the changes of a methodology: each version with the sentences that it changed, and dated amendments. */
  listMethodologyChanges: {
    request: { readonly params: { readonly index_id: string }; readonly query?: { readonly limit?: number | undefined } | undefined };
    answer: MethodologyChanges;
  };
  /** Lists the procedures of the administrator. */
  listProcedures: {
    request: { readonly query?: { readonly limit?: number | undefined; readonly after?: string | undefined } | undefined };
    answer: ProcedureCollection;
  };
  /** Returns one procedure. */
  getProcedure: {
    request: { readonly params: { readonly procedure_id: string } };
    answer: Procedure;
  };
  /** Creates or replaces a procedure of the administrator. */
  putProcedure: {
    request: { readonly params: { readonly procedure_id: string }; readonly body: ProcedureDocument };
    answer: Procedure;
  };
  /** Deletes a procedure. */
  deleteProcedure: {
    request: { readonly params: { readonly procedure_id: string }; readonly query?: { readonly purge?: boolean | undefined } | undefined };
    answer: null;
  };
  /** Lists the versions of the index, with author, time and note. */
  listIndexVersions: {
    request: { readonly params: { readonly index_id: string }; readonly query?: { readonly limit?: number | undefined; readonly before?: number | undefined } | undefined };
    answer: VersionList;
  };
  /** Lists the changes of the index between two versions. */
  diffIndexVersions: {
    request: { readonly params: { readonly index_id: string }; readonly query: { readonly from: number; readonly to: number } };
    answer: VersionDifference;
  };
  /** Returns one version of the index. */
  getIndexVersion: {
    request: { readonly params: { readonly index_id: string; readonly version: string } };
    answer: VersionedDocument;
  };
  /** Restores a version of the index. */
  restoreIndexVersion: {
    request: { readonly params: { readonly index_id: string; readonly version: string } };
    answer: SavedIndex;
  };
  /** Lists the versions of the strategy, with author, time and note. */
  listStrategyVersions: {
    request: { readonly params: { readonly strategy_id: string }; readonly query?: { readonly limit?: number | undefined; readonly before?: number | undefined } | undefined };
    answer: VersionList;
  };
  /** Lists the changes of the strategy between two versions. */
  diffStrategyVersions: {
    request: { readonly params: { readonly strategy_id: string }; readonly query: { readonly from: number; readonly to: number } };
    answer: VersionDifference;
  };
  /** Returns one version of the strategy. */
  getStrategyVersion: {
    request: { readonly params: { readonly strategy_id: string; readonly version: string } };
    answer: VersionedDocument;
  };
  /** Restores a version of the strategy. */
  restoreStrategyVersion: {
    request: { readonly params: { readonly strategy_id: string; readonly version: string } };
    answer: SavedStrategy;
  };
  /** Lists the versions of the constraint set, with author, time and note. */
  listConstraintSetVersions: {
    request: { readonly params: { readonly constraint_set_id: string }; readonly query?: { readonly limit?: number | undefined; readonly before?: number | undefined } | undefined };
    answer: VersionList;
  };
  /** Lists the changes of the constraint set between two versions. */
  diffConstraintSetVersions: {
    request: { readonly params: { readonly constraint_set_id: string }; readonly query: { readonly from: number; readonly to: number } };
    answer: VersionDifference;
  };
  /** Returns one version of the constraint set. */
  getConstraintSetVersion: {
    request: { readonly params: { readonly constraint_set_id: string; readonly version: string } };
    answer: VersionedDocument;
  };
  /** Restores a version of the constraint set. */
  restoreConstraintSetVersion: {
    request: { readonly params: { readonly constraint_set_id: string; readonly version: string } };
    answer: SavedConstraintSet;
  };
  /** Lists the versions of the report template, with author, time and note. */
  listTemplateVersions: {
    request: { readonly params: { readonly template_id: string }; readonly query?: { readonly limit?: number | undefined; readonly before?: number | undefined } | undefined };
    answer: VersionList;
  };
  /** Lists the changes of the report template between two versions. */
  diffTemplateVersions: {
    request: { readonly params: { readonly template_id: string }; readonly query: { readonly from: number; readonly to: number } };
    answer: VersionDifference;
  };
  /** Returns one version of the report template. */
  getTemplateVersion: {
    request: { readonly params: { readonly template_id: string; readonly version: string } };
    answer: VersionedDocument;
  };
  /** Restores a version of the report template. */
  restoreTemplateVersion: {
    request: { readonly params: { readonly template_id: string; readonly version: string } };
    answer: SavedReportTemplate;
  };
  /** Lists the versions of the watchlist, with author, time and note. */
  listWatchlistVersions: {
    request: { readonly params: { readonly watchlist_id: string }; readonly query?: { readonly limit?: number | undefined; readonly before?: number | undefined } | undefined };
    answer: VersionList;
  };
  /** Lists the changes of the watchlist between two versions. */
  diffWatchlistVersions: {
    request: { readonly params: { readonly watchlist_id: string }; readonly query: { readonly from: number; readonly to: number } };
    answer: VersionDifference;
  };
  /** Returns one version of the watchlist. */
  getWatchlistVersion: {
    request: { readonly params: { readonly watchlist_id: string; readonly version: string } };
    answer: VersionedDocument;
  };
  /** Restores a version of the watchlist. */
  restoreWatchlistVersion: {
    request: { readonly params: { readonly watchlist_id: string; readonly version: string } };
    answer: Watchlist;
  };
  /** Lists the versions of the plug-in, with author, time and note. */
  listPluginVersions: {
    request: { readonly params: { readonly plugin_id: string }; readonly query?: { readonly limit?: number | undefined; readonly before?: number | undefined } | undefined };
    answer: VersionList;
  };
  /** Lists the changes of the plug-in between two versions. */
  diffPluginVersions: {
    request: { readonly params: { readonly plugin_id: string }; readonly query: { readonly from: number; readonly to: number } };
    answer: VersionDifference;
  };
  /** Returns one version of the plug-in. */
  getPluginVersion: {
    request: { readonly params: { readonly plugin_id: string; readonly version: string } };
    answer: VersionedDocument;
  };
  /** Restores a version of the plug-in. */
  restorePluginVersion: {
    request: { readonly params: { readonly plugin_id: string; readonly version: string } };
    answer: Plugin;
  };
  /** Lists the versions of the client, with author, time and note. */
  listClientVersions: {
    request: { readonly params: { readonly client_id: string }; readonly query?: { readonly limit?: number | undefined; readonly before?: number | undefined } | undefined };
    answer: VersionList;
  };
  /** Lists the changes of the client between two versions. */
  diffClientVersions: {
    request: { readonly params: { readonly client_id: string }; readonly query: { readonly from: number; readonly to: number } };
    answer: VersionDifference;
  };
  /** Returns one version of the client. */
  getClientVersion: {
    request: { readonly params: { readonly client_id: string; readonly version: string } };
    answer: VersionedDocument;
  };
  /** Restores a version of the client. */
  restoreClientVersion: {
    request: { readonly params: { readonly client_id: string; readonly version: string } };
    answer: Client;
  };
  /** Lists the versions of the schedule, with author, time and note. */
  listScheduleVersions: {
    request: { readonly params: { readonly schedule_id: string }; readonly query?: { readonly limit?: number | undefined; readonly before?: number | undefined } | undefined };
    answer: VersionList;
  };
  /** Lists the changes of the schedule between two versions. */
  diffScheduleVersions: {
    request: { readonly params: { readonly schedule_id: string }; readonly query: { readonly from: number; readonly to: number } };
    answer: VersionDifference;
  };
  /** Returns one version of the schedule. */
  getScheduleVersion: {
    request: { readonly params: { readonly schedule_id: string; readonly version: string } };
    answer: VersionedDocument;
  };
  /** Restores a version of the schedule. */
  restoreScheduleVersion: {
    request: { readonly params: { readonly schedule_id: string; readonly version: string } };
    answer: Schedule;
  };
  /** Lists the versions of the calendar, with author, time and note. */
  listClosuresVersions: {
    request: { readonly params: { readonly calendar_code: string }; readonly query?: { readonly limit?: number | undefined; readonly before?: number | undefined } | undefined };
    answer: VersionList;
  };
  /** Lists the changes of the calendar between two versions. */
  diffClosuresVersions: {
    request: { readonly params: { readonly calendar_code: string }; readonly query: { readonly from: number; readonly to: number } };
    answer: VersionDifference;
  };
  /** Returns one version of the calendar. */
  getClosuresVersion: {
    request: { readonly params: { readonly calendar_code: string; readonly version: string } };
    answer: VersionedDocument;
  };
  /** Restores a version of the calendar. */
  restoreClosuresVersion: {
    request: { readonly params: { readonly calendar_code: string; readonly version: string } };
    answer: CalendarClosures;
  };
  /** Lists the versions of the procedure, with author, time and note. */
  listProcedureVersions: {
    request: { readonly params: { readonly procedure_id: string }; readonly query?: { readonly limit?: number | undefined; readonly before?: number | undefined } | undefined };
    answer: VersionList;
  };
  /** Lists the changes of the procedure between two versions. */
  diffProcedureVersions: {
    request: { readonly params: { readonly procedure_id: string }; readonly query: { readonly from: number; readonly to: number } };
    answer: VersionDifference;
  };
  /** Returns one version of the procedure. */
  getProcedureVersion: {
    request: { readonly params: { readonly procedure_id: string; readonly version: string } };
    answer: VersionedDocument;
  };
  /** Restores a version of the procedure. */
  restoreProcedureVersion: {
    request: { readonly params: { readonly procedure_id: string; readonly version: string } };
    answer: Procedure;
  };
  /** Lists the versions of the declaration of a data store, with author, time and note. */
  listStoreVersions: {
    request: { readonly params: { readonly store_id: string }; readonly query?: { readonly limit?: number | undefined; readonly before?: number | undefined } | undefined };
    answer: VersionList;
  };
  /** Lists the changes of the declaration of a data store between two versions. */
  diffStoreVersions: {
    request: { readonly params: { readonly store_id: string }; readonly query: { readonly from: number; readonly to: number } };
    answer: VersionDifference;
  };
  /** Returns one version of the declaration of a data store. */
  getStoreVersion: {
    request: { readonly params: { readonly store_id: string; readonly version: string } };
    answer: VersionedDocument;
  };
  /** Restores a version of the declaration of a data store. */
  restoreStoreVersion: {
    request: { readonly params: { readonly store_id: string; readonly version: string } };
    answer: DataStore;
  };
  /** Publishes the closes of a run that are not yet published. Default: the newest current run; the response states its id. */
  publishIndex: {
    request: { readonly params: { readonly index_id: string }; readonly body?: PublishRequest | null | undefined };
    answer: Publication;
  };
  /** Returns the published log of an index, even after the deletion of the index. */
  getPublished: {
    request: { readonly params: { readonly index_id: string }; readonly query?: { readonly start?: string | undefined; readonly end?: string | undefined; readonly format?: 'json' | 'ndjson' | undefined } | undefined };
    answer: PublishedLog;
  };
  /** Returns a signed archive of all inputs that are needed to recompute the published closes of an index. */
  getPublishedBundle: {
    request: { readonly params: { readonly index_id: string } };
    answer: Uint8Array;
  };
  /** Lists the register of errors in published closes: size, decision, and the notice for clients. */
  listPublishedErrors: {
    request: { readonly params: { readonly index_id: string }; readonly query?: { readonly limit?: number | undefined } | undefined };
    answer: PublishedErrors;
  };
  /** Lists the public keys that sign published logs. */
  getPublishedKeys: {
    request: { readonly params: { readonly index_id: string } };
    answer: PublicKeys;
  };
  /** Replaces the signing key. */
  rotateSigningKey: {
    request: Readonly<Record<never, never>>;
    answer: PublicKey;
  };
  /** Lists pending and decided approvals of changes. */
  listApprovals: {
    request: { readonly query?: { readonly state?: 'pending' | 'approved' | 'used' | 'rejected' | 'withdrawn' | 'expired' | undefined; readonly action?: 'publish' | 'restate' | 'amend' | 'action' | 'override' | 'waive' | undefined; readonly subject?: string | undefined; readonly schedule_id?: string | undefined; readonly date?: string | undefined; readonly limit?: number | undefined; readonly before?: number | undefined } | undefined };
    answer: ApprovalCollection;
  };
  /** Returns one approval: the change, and the people who requested, commented and decided. */
  getApproval: {
    request: { readonly params: { readonly approval_id: number } };
    answer: Approval;
  };
  /** Approves, rejects, withdraws or comments on a pending change. */
  decideApproval: {
    request: { readonly params: { readonly approval_id: number }; readonly body: ApprovalDecisionRequest };
    answer: Approval;
  };
  /** Lists coming and recent corporate actions of the served store, with their state and flags. */
  listActions: {
    request: { readonly query?: { readonly from?: string | undefined; readonly to?: string | undefined; readonly state?: 'new' | 'confirmed' | 'rejected' | 'amended' | undefined; readonly identifier?: string | undefined; readonly flagged?: boolean | undefined; readonly indices?: boolean | undefined; readonly limit?: number | undefined; readonly store_id?: string | undefined } | undefined };
    answer: DeskActions;
  };
  /** Returns one corporate action with its decisions, and each index before and after it. */
  getAction: {
    request: { readonly params: { readonly action_id: string }; readonly query?: { readonly store_id?: string | undefined } | undefined };
    answer: DeskActionDetail;
  };
  /** Confirms, rejects or reopens a corporate action with its current terms. */
  decideAction: {
    request: { readonly params: { readonly action_id: string }; readonly query?: { readonly store_id?: string | undefined } | undefined; readonly body: DeskDecisionRequest };
    answer: DeskAction;
  };
  /** Returns the owner of a document, and the clients that can read it. */
  getAccess: {
    request: { readonly params: { readonly kind: 'index' | 'strategy' | 'constraint-set' | 'template' | 'watchlist' | 'plugin' | 'store' | 'closures' | 'schedule' | 'procedure' | 'client'; readonly document_id: string } };
    answer: DocumentAccess;
  };
  /** Sets the clients that can read a document. */
  putAccess: {
    request: { readonly params: { readonly kind: 'index' | 'strategy' | 'constraint-set' | 'template' | 'watchlist' | 'plugin' | 'store' | 'closures' | 'schedule' | 'procedure' | 'client'; readonly document_id: string }; readonly body: SharingRequest };
    answer: DocumentAccess;
  };
  /** Lists every write of a document and every publication, with author, time, request and version. */
  getAudit: {
    request: { readonly query?: { readonly start?: string | undefined; readonly end?: string | undefined; readonly kind?: 'index' | 'strategy' | 'constraint-set' | 'template' | 'watchlist' | 'plugin' | 'store' | 'closures' | 'schedule' | 'procedure' | 'client' | 'judgement' | 'action-decision' | 'approval' | 'paused-kind' | 'run' | 'optimisation-run' | 'risk-model' | 'render' | 'publication' | 'publication-error' | 'data-version' | 'signing-key' | 'key' | 'job' | 'authentication' | 'read' | undefined; readonly id?: string | undefined; readonly author?: string | undefined; readonly after?: number | undefined; readonly limit?: number | undefined; readonly format?: 'json' | 'ndjson' | undefined } | undefined };
    answer: AuditLog;
  };
}

export type OperationId = keyof Operations;

/** Method and path of every operation. */
export const OPERATIONS: Readonly<Record<OperationId, string>> = {
  getHealth: 'GET /health',
  getLiveness: 'GET /health/live',
  getReadiness: 'GET /health/ready',
  getMetrics: 'GET /metrics',
  getChangelog: 'GET /changelog',
  getPrincipal: 'GET /principal',
  getOpenApi: 'GET /openapi.json',
  getDocumentation: 'GET /docs',
  getGuide: 'GET /docs/guide',
  getGuidePage: 'GET /docs/guide/{page}',
  getGuidePicture: 'GET /docs/guide/pictures/{picture}',
  callMcp: 'POST /mcp',
  listJobs: 'GET /jobs',
  followJobs: 'GET /jobs/events',
  listJobKinds: 'GET /jobs/kinds',
  pauseJobKind: 'POST /jobs/kinds/{job_kind}/pause',
  resumeJobKind: 'POST /jobs/kinds/{job_kind}/resume',
  getJob: 'GET /jobs/{job_id}',
  cancelJob: 'DELETE /jobs/{job_id}',
  retryJobs: 'POST /jobs/retry',
  followJob: 'GET /jobs/{job_id}/events',
  listCalendars: 'GET /indices/calendars',
  getSchedule: 'GET /indices/{index_id}/schedule',
  listEvents: 'GET /events',
  listClosures: 'GET /calendars',
  getClosures: 'GET /calendars/{calendar_code}/closures',
  putClosures: 'PUT /calendars/{calendar_code}/closures',
  deleteClosures: 'DELETE /calendars/{calendar_code}/closures',
  listIndices: 'GET /indices',
  createIndex: 'POST /indices',
  listRuleTypes: 'GET /indices/rule-types',
  listOverlayTypes: 'GET /indices/overlay-types',
  listMethodologyTemplates: 'GET /indices/templates',
  getMethodologyTemplate: 'GET /indices/templates/{methodology_id}',
  getMethodologyTemplateLevel: 'GET /indices/templates/{methodology_id}/level',
  validateIndex: 'POST /indices/validate',
  evaluateDatapoint: 'POST /indices/datapoints/evaluate',
  previewDocument: 'POST /indices/preview',
  sketchLevel: 'POST /indices/level',
  whatIf: 'POST /indices/whatif',
  getIndex: 'GET /indices/{index_id}',
  putIndex: 'PUT /indices/{index_id}',
  deleteIndex: 'DELETE /indices/{index_id}',
  previewIndex: 'POST /indices/{index_id}/preview',
  explainName: 'GET /indices/{index_id}/explain/{identifier}',
  getMethodology: 'GET /indices/{index_id}/methodology',
  packRebalance: 'POST /indices/{index_id}/rebalance-pack',
  startBacktest: 'POST /analytics/{index_id}/backtest',
  startBacktests: 'POST /analytics/backtests',
  listBacktests: 'GET /analytics/backtests',
  compareRuns: 'GET /analytics/compare',
  getRecord: 'GET /analytics/{index_id}/record',
  deleteRecord: 'DELETE /analytics/{index_id}/record',
  getOverview: 'GET /analytics/{index_id}/overview',
  getAttribution: 'GET /analytics/{index_id}/attribution',
  getGroupAttribution: 'GET /analytics/{index_id}/attribution/groups',
  reconcileRun: 'GET /analytics/{index_id}/reconcile',
  getRunAsset: 'GET /analytics/{index_id}/assets/{identifier}',
  getWeights: 'GET /analytics/{index_id}/weights',
  getFactorRisk: 'GET /analytics/{index_id}/factor-risk',
  getTotalRisk: 'GET /analytics/{index_id}/total-risk',
  getFactorAttribution: 'GET /analytics/{index_id}/factor-attribution',
  getLevels: 'GET /analytics/{index_id}/levels',
  listRuns: 'GET /analytics/{index_id}/runs',
  diffRuns: 'POST /analytics/{index_id}/runs/diff',
  listSummaries: 'GET /analytics/summaries',
  getPerformance: 'GET /analytics/{index_id}/performance',
  listRebalances: 'GET /analytics/{index_id}/rebalances',
  getRebalance: 'GET /analytics/{index_id}/rebalances/{date}',
  getIndexActions: 'GET /indices/{index_id}/actions',
  getDividendPoints: 'GET /analytics/{index_id}/dividend-points',
  getExposures: 'GET /analytics/{index_id}/exposures',
  getLimits: 'GET /analytics/{index_id}/limits',
  watchLimits: 'POST /analytics/{index_id}/limits',
  runScenarios: 'POST /analytics/{index_id}/scenarios',
  exportRun: 'GET /analytics/{index_id}/exports/{table}',
  runSql: 'POST /sql',
  listConstraintSets: 'GET /optimise/constraint-sets',
  createConstraintSet: 'POST /optimise/constraint-sets',
  validateConstraintSet: 'POST /optimise/constraint-sets/validate',
  getConstraintSet: 'GET /optimise/constraint-sets/{constraint_set_id}',
  putConstraintSet: 'PUT /optimise/constraint-sets/{constraint_set_id}',
  deleteConstraintSet: 'DELETE /optimise/constraint-sets/{constraint_set_id}',
  listConstraintTypes: 'GET /optimise/constraint-types',
  listObjectiveTypes: 'GET /optimise/objective-types',
  startOptimisation: 'POST /optimise/runs',
  previewOptimisation: 'POST /optimise/preview',
  getOptimisation: 'GET /optimise/runs/{run_id}',
  optimiseIndex: 'POST /indices/{index_id}/optimise',
  listRiskModels: 'GET /risk-models',
  getRiskModel: 'GET /risk-models/{model_id}',
  deleteRiskModel: 'DELETE /risk-models/{model_id}',
  estimateRiskModel: 'POST /risk-models/{model_id}/estimate',
  validateRiskModel: 'POST /risk-models/{model_id}/validate',
  importRiskModel: 'POST /risk-models/{model_id}/import',
  exportRiskModel: 'GET /risk-models/{model_id}/export',
  replayRun: 'POST /analytics/{index_id}/replay',
  startSweep: 'POST /analytics/sweeps',
  getSweepRows: 'GET /analytics/sweeps/{sweep_id}/rows',
  listBatches: 'GET /optimise/batches',
  startBatch: 'POST /optimise/batches',
  getBatchTemplate: 'GET /optimise/batches/template',
  getBatchAccounts: 'GET /optimise/batches/{batch_id}/accounts',
  getBatchCommon: 'GET /optimise/batches/{batch_id}/common',
  backtestAccount: 'POST /analytics/{index_id}/accounts/backtest',
  startRerun: 'POST /analytics/reruns',
  getRerunRows: 'GET /analytics/reruns/{rerun_id}/rows',
  startStudy: 'POST /optimise/studies',
  getStudyRows: 'GET /optimise/studies/{study_id}/rows',
  simulateIndex: 'POST /analytics/{index_id}/simulate',
  explainDifference: 'POST /analytics/{index_id}/differences',
  getRollingRisk: 'GET /analytics/{index_id}/rolling',
  renderReport: 'POST /reports/render',
  listRenders: 'GET /reports/renders',
  getRender: 'GET /reports/renders/{render_id}',
  deleteRender: 'DELETE /reports/renders/{render_id}',
  listTemplates: 'GET /reports/templates',
  getTemplate: 'GET /reports/templates/{template_id}',
  putTemplate: 'PUT /reports/templates/{template_id}',
  deleteTemplate: 'DELETE /reports/templates/{template_id}',
  priceFutures: 'POST /derivatives/futures/price',
  priceTrs: 'POST /derivatives/trs/price',
  getRoll: 'GET /derivatives/{index_id}/roll',
  getTermStructure: 'GET /derivatives/{index_id}/term-structure',
  listStrategies: 'GET /strategies',
  createStrategy: 'POST /strategies',
  validateStrategy: 'POST /strategies/validate',
  getStrategy: 'GET /strategies/{strategy_id}',
  putStrategy: 'PUT /strategies/{strategy_id}',
  deleteStrategy: 'DELETE /strategies/{strategy_id}',
  listStores: 'GET /data/stores',
  createStore: 'POST /data/stores',
  getStore: 'GET /data/stores/{store_id}',
  updateStore: 'PATCH /data/stores/{store_id}',
  deleteStore: 'DELETE /data/stores/{store_id}',
  activateStore: 'POST /data/stores/{store_id}/activate',
  refreshStore: 'POST /data/stores/{store_id}/refresh',
  syncData: 'POST /data/sync',
  auditStore: 'GET /data/stores/{store_id}/audit',
  repairStore: 'POST /data/stores/{store_id}/repairs',
  inspectData: 'POST /data/inspect',
  importStore: 'POST /data/import',
  getImportTemplate: 'GET /data/import/template',
  generateSynthetic: 'POST /data/synthetic',
  listPriceOverrides: 'GET /data/stores/{store_id}/overrides',
  overridePrice: 'POST /data/stores/{store_id}/overrides',
  listDataVersions: 'GET /data/stores/{store_id}/versions',
  diffDataVersions: 'GET /data/stores/{store_id}/versions/diff',
  getPrices: 'GET /data/prices/{identifier}',
  getAssetReferences: 'GET /data/reference',
  getAssetReference: 'GET /data/reference/{identifier}',
  getCorporateActions: 'GET /data/corporate-actions/{identifier}',
  getCoverage: 'GET /data/coverage',
  getCoverageHistory: 'GET /data/coverage/history',
  getDataSource: 'GET /data/source',
  listFields: 'GET /data/fields',
  listSeries: 'GET /data/series',
  searchIdentifiers: 'GET /data/identifiers',
  listClients: 'GET /clients',
  getClient: 'GET /clients/{client_id}',
  putClient: 'PUT /clients/{client_id}',
  deleteClient: 'DELETE /clients/{client_id}',
  listDeliveries: 'GET /clients/{client_id}/deliveries',
  listWatchlists: 'GET /data/watchlists',
  getWatchlist: 'GET /data/watchlists/{watchlist_id}',
  putWatchlist: 'PUT /data/watchlists/{watchlist_id}',
  deleteWatchlist: 'DELETE /data/watchlists/{watchlist_id}',
  listPlugins: 'GET /plugins',
  getPlugin: 'GET /plugins/{plugin_id}',
  putPlugin: 'PUT /plugins/{plugin_id}',
  deletePlugin: 'DELETE /plugins/{plugin_id}',
  previewPlugin: 'POST /plugins/preview',
  listSchedules: 'GET /schedules',
  getSchedulePlan: 'GET /schedules/{schedule_id}',
  putSchedule: 'PUT /schedules/{schedule_id}',
  deleteSchedule: 'DELETE /schedules/{schedule_id}',
  listScheduleDays: 'GET /schedules/{schedule_id}/days',
  getScheduleDay: 'GET /schedules/{schedule_id}/days/{date}',
  getScheduleFile: 'GET /schedules/{schedule_id}/days/{date}/files/{file_name}',
  listDayDeliveries: 'GET /schedules/{schedule_id}/days/{date}/deliveries',
  runScheduleDay: 'POST /schedules/{schedule_id}/days/{date}/run',
  waiveScheduleCheck: 'POST /schedules/{schedule_id}/days/{date}/waivers',
  skipScheduleDay: 'POST /schedules/{schedule_id}/days/{date}/skip',
  backfillSchedule: 'POST /schedules/{schedule_id}/backfill',
  listJudgements: 'GET /schedules/{schedule_id}/judgements',
  getGovernance: 'GET /governance',
  getStatement: 'GET /indices/{index_id}/statement',
  listMethodologyChanges: 'GET /indices/{index_id}/changes',
  listProcedures: 'GET /procedures',
  getProcedure: 'GET /procedures/{procedure_id}',
  putProcedure: 'PUT /procedures/{procedure_id}',
  deleteProcedure: 'DELETE /procedures/{procedure_id}',
  listIndexVersions: 'GET /indices/{index_id}/versions',
  diffIndexVersions: 'GET /indices/{index_id}/versions/diff',
  getIndexVersion: 'GET /indices/{index_id}/versions/{version}',
  restoreIndexVersion: 'POST /indices/{index_id}/versions/{version}/restore',
  listStrategyVersions: 'GET /strategies/{strategy_id}/versions',
  diffStrategyVersions: 'GET /strategies/{strategy_id}/versions/diff',
  getStrategyVersion: 'GET /strategies/{strategy_id}/versions/{version}',
  restoreStrategyVersion: 'POST /strategies/{strategy_id}/versions/{version}/restore',
  listConstraintSetVersions: 'GET /optimise/constraint-sets/{constraint_set_id}/versions',
  diffConstraintSetVersions: 'GET /optimise/constraint-sets/{constraint_set_id}/versions/diff',
  getConstraintSetVersion: 'GET /optimise/constraint-sets/{constraint_set_id}/versions/{version}',
  restoreConstraintSetVersion: 'POST /optimise/constraint-sets/{constraint_set_id}/versions/{version}/restore',
  listTemplateVersions: 'GET /reports/templates/{template_id}/versions',
  diffTemplateVersions: 'GET /reports/templates/{template_id}/versions/diff',
  getTemplateVersion: 'GET /reports/templates/{template_id}/versions/{version}',
  restoreTemplateVersion: 'POST /reports/templates/{template_id}/versions/{version}/restore',
  listWatchlistVersions: 'GET /data/watchlists/{watchlist_id}/versions',
  diffWatchlistVersions: 'GET /data/watchlists/{watchlist_id}/versions/diff',
  getWatchlistVersion: 'GET /data/watchlists/{watchlist_id}/versions/{version}',
  restoreWatchlistVersion: 'POST /data/watchlists/{watchlist_id}/versions/{version}/restore',
  listPluginVersions: 'GET /plugins/{plugin_id}/versions',
  diffPluginVersions: 'GET /plugins/{plugin_id}/versions/diff',
  getPluginVersion: 'GET /plugins/{plugin_id}/versions/{version}',
  restorePluginVersion: 'POST /plugins/{plugin_id}/versions/{version}/restore',
  listClientVersions: 'GET /clients/{client_id}/versions',
  diffClientVersions: 'GET /clients/{client_id}/versions/diff',
  getClientVersion: 'GET /clients/{client_id}/versions/{version}',
  restoreClientVersion: 'POST /clients/{client_id}/versions/{version}/restore',
  listScheduleVersions: 'GET /schedules/{schedule_id}/versions',
  diffScheduleVersions: 'GET /schedules/{schedule_id}/versions/diff',
  getScheduleVersion: 'GET /schedules/{schedule_id}/versions/{version}',
  restoreScheduleVersion: 'POST /schedules/{schedule_id}/versions/{version}/restore',
  listClosuresVersions: 'GET /calendars/{calendar_code}/closures/versions',
  diffClosuresVersions: 'GET /calendars/{calendar_code}/closures/versions/diff',
  getClosuresVersion: 'GET /calendars/{calendar_code}/closures/versions/{version}',
  restoreClosuresVersion: 'POST /calendars/{calendar_code}/closures/versions/{version}/restore',
  listProcedureVersions: 'GET /procedures/{procedure_id}/versions',
  diffProcedureVersions: 'GET /procedures/{procedure_id}/versions/diff',
  getProcedureVersion: 'GET /procedures/{procedure_id}/versions/{version}',
  restoreProcedureVersion: 'POST /procedures/{procedure_id}/versions/{version}/restore',
  listStoreVersions: 'GET /data/stores/{store_id}/document/versions',
  diffStoreVersions: 'GET /data/stores/{store_id}/document/versions/diff',
  getStoreVersion: 'GET /data/stores/{store_id}/document/versions/{version}',
  restoreStoreVersion: 'POST /data/stores/{store_id}/document/versions/{version}/restore',
  publishIndex: 'POST /analytics/{index_id}/publish',
  getPublished: 'GET /analytics/{index_id}/published',
  getPublishedBundle: 'GET /analytics/{index_id}/published/bundle',
  listPublishedErrors: 'GET /analytics/{index_id}/published/errors',
  getPublishedKeys: 'GET /analytics/{index_id}/published/keys',
  rotateSigningKey: 'POST /publication/keys',
  listApprovals: 'GET /approvals',
  getApproval: 'GET /approvals/{approval_id}',
  decideApproval: 'POST /approvals/{approval_id}/decisions',
  listActions: 'GET /actions',
  getAction: 'GET /actions/{action_id}',
  decideAction: 'POST /actions/{action_id}/decisions',
  getAccess: 'GET /access/{kind}/{document_id}',
  putAccess: 'PUT /access/{kind}/{document_id}',
  getAudit: 'GET /audit',
};
