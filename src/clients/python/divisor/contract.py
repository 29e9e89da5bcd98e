# Written from the OpenAPI document by `npm run generate`; edit the contract instead.
"""Types of everything the service takes and answers, as JSON carries it."""

from __future__ import annotations

import datetime
import typing as t

#: A date to send: of Python, or YYYY-MM-DD.
Date = t.Union[str, datetime.date]

class AcceptedFinding(t.TypedDict):
    #: The index, or the strategy of a run.
    index_id: str
    #: Security or series; null for the whole index.
    identifier: t.Optional[str]
    #: Description of the finding in a sentence.
    message: str
    #: Value and limit; null for a finding without a value.
    measure: t.Optional[CheckMeasure]


class AccountBacktestJobStatus(t.TypedDict):
    #: {kind}:{id}, for example backtest:LARGE-100.
    job_id: str
    kind: t.Literal["account"]
    #: Order in which waiting jobs start.
    priority: t.Literal["high", "normal", "low"]
    #: pending -> running -> succeeded, failed or cancelled. Terminal states never change.
    status: t.Literal["pending", "running", "succeeded", "failed", "cancelled"]
    #: Completed fraction: 0 while pending, exactly 1 after success. It never decreases during an attempt.
    progress: float
    #: Current step.
    message: str
    #: Error of the job; only if it failed.
    error: t.Optional[ErrorDetail]
    #: Time of the submission, ISO-8601 UTC with offset.
    created_at: str
    #: Start of the current attempt.
    started_at: t.Optional[str]
    #: Time of the end, ISO-8601 UTC with offset; null while it has not ended.
    finished_at: t.Optional[str]
    #: Time of the last heartbeat of the running attempt.
    heartbeat_at: t.Optional[str]
    #: Number of starts, which is recorded before the work starts.
    attempt: int
    #: Latest attempts in order, at most eleven. The last one is the current attempt.
    attempts: t.Sequence[JobAttempt]
    #: Request body as it was accepted.
    request: t.Any
    #: SHA-256 of all inputs except the market.
    input_hash: str
    #: X-Request-Id of the submission, which log lines of the job contain. Null if the service submitted the job.
    request_id: t.Optional[str]
    #: Trace of the submission, from its header traceparent.
    trace_id: t.Optional[str]
    #: Addresses that are notified when the job ends.
    callbacks: t.Sequence[JobCallback]
    #: Result of the job, if it succeeded. Null if the run of a backtest was deleted.
    result: t.Optional[AccountBacktestView]


class _AccountBacktestRequest(t.TypedDict):
    #: Account before the first session.
    account: PersonalAccount
    #: Stored factor model.
    risk_model: str
    #: First day. The lots are those held on this day.
    start: Date


class AccountBacktestRequest(_AccountBacktestRequest, total=False):
    #: Id of the result. Default: a generated id.
    backtest_id: t.Optional[str]
    #: Objective: an object with a type of `/optimise/objective-types` and its parameters, or only the type. A derived index accepts only the type `min_tracking_error` without an object.
    objective: BatchObjective
    #: Constraints. Without constraints, weights are long-only and add up to 1.
    constraints: t.Sequence[BatchRow]
    #: True limits trades to whole shares.
    whole_shares: bool
    #: Maximum number of branches per account if rounding leaves a gap; 0 turns the search off.
    search_nodes: int
    #: Default: the last session of the data.
    end: t.Optional[Date]
    #: Frequency of the trades. The account trades on its first session, and on the first session of each month, quarter or year.
    rebalance: t.Literal["monthly", "quarterly", "yearly"]
    #: Tax rate of dividends.
    dividend_rate: float


class AccountBacktestViewSessions(t.TypedDict):
    #: The date.
    date: str
    #: Cash and holdings at the close.
    value: float
    #: Cash at the close: cash of the previous session plus the entries of this session.
    cash: float
    #: Unpaid tax of the year so far.
    accrued_tax: float


class AccountBacktestViewRebalances(t.TypedDict):
    #: The date.
    date: str
    #: Status of the solution. An infeasible rebalance trades nothing.
    status: str
    #: Number of trades.
    trades: int
    #: One-way turnover, as a fraction of the value.
    turnover: float
    #: Annual tracking error after the trades.
    tracking_error: float
    #: Gap of the certificate.
    gap: float
    #: Trades that the wash sale rule prevented.
    avoided_wash_sales: int


class AccountBacktestViewEntriesBuyLot(t.TypedDict):
    #: Start of the holding period.
    acquired: str
    #: Basis per share.
    cost: float
    #: Realised gain that is taxed; 0 if the loss is disallowed.
    gain: float
    #: Loss added to the basis of the replacement.
    disallowed_loss: float
    #: Holding period of the lot.
    term: t.Literal["short", "long"]


class _AccountBacktestViewEntriesBuy(t.TypedDict):
    #: The date.
    date: str
    #: Reason of the movement.
    kind: t.Literal["buy", "sell", "cost", "dividend", "action", "tax"]
    #: Security; null for costs and taxes.
    identifier: t.Optional[str]
    #: Shares bought; negative for a sale.
    shares: float
    #: Cash received; negative if paid.
    amount: float


class AccountBacktestViewEntriesBuy(_AccountBacktestViewEntriesBuy, total=False):
    #: Lot of a sale, or of a corporate action with a gain, and the gain realised; otherwise null. Absent in results of earlier versions.
    lot: t.Optional[AccountBacktestViewEntriesBuyLot]


class _AccountBacktestViewYears(t.TypedDict):
    #: Calendar year.
    year: int
    #: Net short-term gains.
    short_gain: float
    #: Net long-term gains.
    long_gain: float
    #: Dividends.
    dividends: float
    #: Losses carried forward from the previous year.
    carried: float
    #: Tax, paid on the first session of the next year.
    tax: float


class AccountBacktestViewYears(_AccountBacktestViewYears, total=False):
    #: False for the year of the last session, whose figures are those so far. Absent in results of earlier versions.
    is_paid: bool


class _AccountBacktestViewLots(t.TypedDict):
    #: Asset identifier.
    identifier: str
    #: Shares of the lot.
    shares: float
    #: Basis per share.
    cost: float
    #: Start of the holding period.
    acquired: str


class AccountBacktestViewLots(_AccountBacktestViewLots, total=False):
    #: Day of the purchase of shares that have replaced shares sold at a loss; absent for other lots.
    bought: str


class AccountBacktestView(t.TypedDict):
    #: The backtest.
    backtest_id: str
    #: Index that the account follows.
    index_id: str
    #: The account.
    account_id: str
    #: First session.
    start: str
    #: Last session.
    end: str
    #: Value on the last session.
    final_value: float
    #: Value less the unpaid tax of the year.
    final_value_after_tax: float
    #: Annual return of the value after tax.
    annual_return_after_tax: float
    #: Taxes paid.
    tax_paid: float
    #: Trading costs.
    costs: float
    #: Dividends received.
    dividends: float
    #: Largest gap of a certificate, as a fraction of the value.
    largest_gap: t.Optional[float]
    #: Account by session.
    sessions: t.Sequence[AccountBacktestViewSessions]
    #: Rebalances of the account.
    rebalances: t.Sequence[AccountBacktestViewRebalances]
    #: Every movement of cash.
    entries: t.Sequence[AccountBacktestViewEntriesBuy]
    #: Tax years, including that of the last session.
    years: t.Sequence[AccountBacktestViewYears]
    #: Lots on the last session.
    lots: t.Sequence[AccountBacktestViewLots]
    #: SHA-256 of the data that was read.
    store_content_hash: str
    #: Version of the engine that computed the result.
    engine_version: str


class AccountDefaultsTaxRealised(t.TypedDict, total=False):
    #: Short-term.
    short: float
    #: Long-term.
    long: float


class AccountDefaultsTax(t.TypedDict, total=False):
    #: Tax rate of short-term gains.
    short_rate: float
    #: Tax rate of long-term gains (after more than one year).
    long_rate: float
    #: Losses carried forward, in money.
    carry_forward: float
    #: Number of days before and after a sale at a loss.
    wash_sale_days: int
    #: Treatment of losses within the window: they are disallowed and added to the basis, or sales with such losses are not made.
    wash_sales: t.Literal["disallow", "forbid"]
    #: Order in which lots of a security are sold: lowest tax, highest cost, or oldest first.
    lot_method: t.Literal["specific", "hifo", "fifo"]
    #: Short-term and long-term gains offset each other, or each offsets only losses of the same term.
    netting: t.Literal["us", "separate"]
    #: Weight of taxes in the objective.
    weight: float
    #: Value of one unit of net loss carried forward; at most the long-term rate.
    loss_value: float
    #: Budget of net gains: maximum of short-term plus long-term gains of the year, less losses carried forward, in money. The tax itself has `limit`.
    budget: t.Optional[float]
    #: Maximum tax of the year, in money. It must not exceed this limit after the trades.
    limit: t.Optional[float]
    #: Net gains realised this year before these trades, in money.
    realised: AccountDefaultsTaxRealised


class AccountDefaults(t.TypedDict, total=False):
    #: Cash, in the currency of the index.
    cash: float
    #: Securities that are sold and not bought.
    exclusions: t.Sequence[str]
    #: Weights that are added to the weights of the parent, by security.
    tilts: t.Mapping[str, float]
    #: Maximum annual tracking error.
    tracking_error_limit: t.Optional[float]
    #: Minimum trade, in money.
    minimum_trade: float
    #: Groups of securities that are treated as identical for wash sales.
    substitutes: t.Sequence[t.Sequence[str]]
    #: Rates and rules of the tax.
    tax: AccountDefaultsTax


class _AccountLot(t.TypedDict):
    #: Asset identifier.
    identifier: str
    #: Shares of the lot.
    shares: float
    #: Cost basis per share, in the currency of the index.
    cost: float
    #: Day of the purchase. With `bought`, the day before the holding period begins.
    acquired: Date


class AccountLot(_AccountLot, total=False):
    #: Day of the purchase of shares that have replaced shares sold at a loss: their holding period began earlier, and they replace no other shares.
    bought: Date


class AccountTaxRealised(t.TypedDict, total=False):
    #: Short-term.
    short: float
    #: Long-term.
    long: float


class AccountTax(t.TypedDict, total=False):
    #: Tax rate of short-term gains.
    short_rate: float
    #: Tax rate of long-term gains (after more than one year).
    long_rate: float
    #: Losses carried forward, in money.
    carry_forward: float
    #: Net gains realised this year before these trades, in money.
    realised: AccountTaxRealised
    #: Number of days before and after a sale at a loss.
    wash_sale_days: int
    #: Treatment of losses within the window: they are disallowed and added to the basis, or sales with such losses are not made.
    wash_sales: t.Literal["disallow", "forbid"]
    #: Order in which lots of a security are sold: lowest tax, highest cost, or oldest first.
    lot_method: t.Literal["specific", "hifo", "fifo"]
    #: Short-term and long-term gains offset each other, or each offsets only losses of the same term.
    netting: t.Literal["us", "separate"]
    #: Weight of taxes in the objective.
    weight: float
    #: Value of one unit of net loss carried forward; at most the long-term rate.
    loss_value: float
    #: Budget of net gains: maximum of short-term plus long-term gains of the year, less losses carried forward, in money. The tax itself has `limit`.
    budget: t.Optional[float]
    #: Maximum tax of the year, in money. It must not exceed this limit after the trades.
    limit: t.Optional[float]


class ActionChoice(t.TypedDict):
    #: `take_up`: subscribe for all new shares of a rights issue, with cash from outside; `sell`: sell the rights at their theoretical value; the cash leaves the index; `sell_to_fund`: sell enough rights to pay for the subscription of the others; `lapse`: let the rights expire without value; `accept_cash`: accept the cash of an offer of cash or shares, or of a scrip dividend; the cash leaves the index; `accept_shares`: accept the shares of an offer of cash or shares, or the new shares of a scrip dividend
    choice: t.Literal["take_up", "sell", "sell_to_fund", "lapse", "accept_cash", "accept_shares"]
    #: Weight at prices that change only because of the action.
    weight_after: float
    #: Index shares.
    shares_after: float
    #: Cash per share held before, in the currency of the security; negative if the holder pays.
    cash: float
    #: Shares of another security; null if there are none.
    received: t.Optional[ReceivedShares]


class ActionDecision(t.TypedDict):
    #: Decision about the action.
    decision: t.Literal["confirmed", "rejected", "reopened"]
    #: Terms of the action at the time of the decision.
    terms: ActionTerms
    #: Other sources with which the person compared the action.
    sources: t.Sequence[ActionSource]
    #: Comment; null if there is none.
    comment: t.Optional[str]
    #: Name of the key.
    author: str
    #: Id of the key.
    key_id: t.Optional[str]
    #: Time of the decision.
    at: str


class ActionFacts(t.TypedDict):
    """Decision about a corporate action."""

    kind: t.Literal["action"]
    #: The data store.
    store_id: str
    #: Id of the corporate action.
    action_id: str
    #: Decision about the action.
    decision: t.Literal["confirmed", "rejected", "reopened"]
    #: Terms of the action.
    terms: ActionTerms
    #: Values of other sources.
    sources: t.Sequence[ActionSource]
    #: Differences between the store and these sources.
    differences: t.Sequence[str]
    #: Effect on each index with a run that holds the security.
    effects: t.Sequence[DeskActionEffect]


class ActionSource(t.TypedDict):
    #: Source, such as the notice of the issuer.
    name: str
    #: Value in this source; null if it has none.
    value: t.Optional[float]
    #: Ex-date in this source; null if it has none.
    ex_date: t.Optional[str]


class _ActionSourceInput(t.TypedDict):
    #: Source, such as the notice of the issuer.
    name: str


class ActionSourceInput(_ActionSourceInput, total=False):
    #: Value in this source; null if it has none.
    value: t.Optional[float]
    #: Ex-date in this source; null if it has none.
    ex_date: t.Optional[Date]


class ActionTerms(t.TypedDict):
    #: Asset identifier.
    identifier: str
    #: Type of the action.
    type: t.Literal["DIVIDEND", "SPECIAL_DIVIDEND", "RETURN_OF_CAPITAL", "SPLIT", "STOCK_DIVIDEND", "BONUS_ISSUE", "RIGHTS_ISSUE", "SPIN_OFF", "MERGER", "ACQUISITION", "DELISTING", "TICKER_CHANGE"]
    #: First day without the entitlement.
    ex_date: str
    #: Value as in the store: an amount per share, a multiplier or a ratio, depending on the type.
    value: float
    #: Null: unknown.
    pay_date: t.Optional[str]
    #: Other identifier of a spin-off, merger or ticker change.
    related: t.Optional[str]
    #: Price of a new share in a rights issue.
    subscription_price: t.Optional[float]
    #: Cash that a merger pays per share in addition to shares.
    cash: t.Optional[float]


class ActionsCheck(t.TypedDict):
    """The dates of corporate actions of constituents are plausible: ex-dates are sessions, announcements are before the ex-date, and payments are after it."""

    check: t.Literal["actions"]
    #: Findings block the index (block), or are only reported (warn). Default: warn.
    severity: t.Literal["block", "warn"]
    #: Number of calendar days after the session that are checked.
    days_ahead: int


class _ActionsCheckInput(t.TypedDict):
    check: t.Literal["actions"]


class ActionsCheckInput(_ActionsCheckInput, total=False):
    """The dates of corporate actions of constituents are plausible: ex-dates are sessions, announcements are before the ex-date, and payments are after it."""

    #: Findings block the index (block), or are only reported (warn). Default: warn.
    severity: t.Literal["block", "warn"]
    #: Number of calendar days after the session that are checked.
    days_ahead: int


class ActionsView(t.TypedDict):
    #: Version of the index or strategy; null for runs that were stored before versions existed.
    index_version: t.Optional[int]
    #: Data store on which the run was computed; null for runs that were stored without it.
    store_id: t.Optional[str]
    #: Causes why the run is stale; null if the stored run equals a new run of the request.
    stale: t.Optional[StaleState]
    #: The index, or the strategy of a run.
    index_id: str
    #: Last date of the run.
    as_of: str
    #: The last 10,000 actions, sorted by ex-date and security.
    actions: t.Sequence[IndexAction]
    #: Number of actions in the window.
    actions_total: int


class _ActiveBoundsParams(t.TypedDict):
    #: Smallest active weight. Unit: fraction.
    lower: float
    #: Largest active weight. Unit: fraction.
    upper: float


class ActiveBoundsParams(_ActiveBoundsParams, total=False):
    """Each active weight (weight less index weight) is between two bounds."""

    #: Securities of the constraint. Default: all securities.
    identifiers: t.Optional[t.Sequence[str]]
    #: Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated.
    soft: t.Optional[float]
    #: Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy.
    priority: int


class _ActiveBoundsRow(t.TypedDict):
    type: t.Literal["ActiveBounds"]


class ActiveBoundsRow(_ActiveBoundsRow, total=False):
    #: Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position.
    id: str
    #: Parameters of the type, by name.
    params: ActiveBoundsParams


class _ActiveGroupBoundsParams(t.TypedDict):
    #: Reference column of the groups.
    field: str
    #: Smallest active weight of a group. Unit: fraction.
    lower: float
    #: Largest active weight of a group. Unit: fraction.
    upper: float


class ActiveGroupBoundsParams(_ActiveGroupBoundsParams, total=False):
    """The active weight of each group (weight less index weight) is between two bounds."""

    #: Groups of the constraint. Default: every group.
    groups: t.Optional[t.Sequence[str]]
    #: Limit of groups with a small index weight: a multiple of the index weight instead of `upper`. Default: no such limit.
    small_group: t.Optional[SmallGroup]
    #: Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated.
    soft: t.Optional[float]
    #: Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy.
    priority: int


class _ActiveGroupBoundsRow(t.TypedDict):
    type: t.Literal["ActiveGroupBounds"]


class ActiveGroupBoundsRow(_ActiveGroupBoundsRow, total=False):
    #: Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position.
    id: str
    #: Parameters of the type, by name.
    params: ActiveGroupBoundsParams


class ActiveRiskPayload(t.TypedDict):
    #: Benchmark of the comparison; null if there is none.
    benchmark: str
    #: Annualised tracking error. The active weights of the covered securities are scaled to the gross active weight of all securities.
    tracking_error: float
    #: Fraction of the gross active weight with an estimate.
    covered_weight: float
    #: Contributions of securities that only the benchmark holds.
    contributions_not_held: t.Mapping[str, float]
    #: Stored risk model; null for a model estimated over the window of the run.
    risk_model: t.Optional[str]
    #: Requested estimator; null for the sample covariance or a stored model.
    risk_estimator: t.Optional[t.Literal["shrinkage", "nonlinear", "gerber", "denoised", "newey_west", "statistical", "industries", "styles"]]
    #: Securities without an estimate.
    uncovered: t.Sequence[str]
    #: First date of the levels of the run. The estimation period begins on this date.
    window_start: t.Optional[str]
    #: Last date of the levels of the run.
    window_end: t.Optional[str]
    #: Number of sessions with a return of every covered security, from which the risk is estimated; null for a stored model.
    observations: t.Optional[int]


class _ActiveShareParams(t.TypedDict):
    #: Largest active share. Unit: fraction.
    limit: float


class ActiveShareParams(_ActiveShareParams, total=False):
    """The active share (half the sum of absolute active weights) is at most a limit."""

    #: Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated.
    soft: t.Optional[float]
    #: Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy.
    priority: int


class _ActiveShareRow(t.TypedDict):
    type: t.Literal["ActiveShare"]


class ActiveShareRow(_ActiveShareRow, total=False):
    #: Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position.
    id: str
    #: Parameters of the type, by name.
    params: ActiveShareParams


class AdjustmentChoice(t.TypedDict):
    """Proposed adjustment, and its reason."""

    #: Price basis of CLOSE: as traded, divided by later splits, or by splits and dividends.
    adjustment: t.Literal["none", "splits", "total"]
    #: Reason for the choice.
    reason: str
    #: Alternatives.
    others: t.Sequence[OtherAdjustment]


class AffectedIndex(t.TypedDict):
    #: The index, or the strategy of a run.
    index_id: str
    #: Weight at the close before the ex-date; for a coming action, on the last date of the run.
    weight: float


class _AllNode(t.TypedDict):
    node: t.Literal["all"]
    #: Nodes in any order.
    operands: t.Sequence[ExpressionNode]


class AllNode(_AllNode, total=False):
    """True if every operand is true."""

    #: Canonical text of the tree, at its root; ignored in requests.
    text: str


class _AllNodeInput(t.TypedDict):
    node: t.Literal["all"]
    #: Nodes in any order.
    operands: t.Sequence[ExpressionNodeInput]


class AllNodeInput(_AllNodeInput, total=False):
    """True if every operand is true."""

    #: Canonical text of the tree, at its root; ignored in requests.
    text: str


class AmendFacts(t.TypedDict):
    """Change of a definition with published closes."""

    kind: t.Literal["amend"]
    #: The index, or the strategy of a run.
    index_id: str
    #: True for a deletion of the index.
    deletes: bool
    #: Change of the whole history, followed by amendments by date.
    changes: t.Sequence[DefinitionChange]


class _Amendment(t.TypedDict):
    #: The new version applies from the first review on or after this date. Earlier reviews use the previous version.
    effective_from: str
    #: JSON merge patch (RFC 7396) of the document. It can change the members universe, rebalance, reviews, pipeline, derivation, overlay, events, rounding. Arrays are replaced as a whole.
    changes: t.Mapping[str, t.Any]


class Amendment(_Amendment, total=False):
    #: Date on which clients were informed.
    announced: str
    #: Free text.
    reason: str
    #: True rebalances on the first session on or after the date, instead of at the next review.
    rebalance: bool


class AnnouncedDividend(t.TypedDict):
    #: First day without the entitlement.
    ex_date: str
    #: Asset identifier.
    identifier: str
    #: Per share, in the currency of the security.
    dividend: float
    #: Index points; negative if short positions pay more than long positions receive.
    points: float
    #: Points after withholding tax, as reinvested by a net return index.
    net_points: float
    #: State of the action; null if the store has none.
    status: t.Optional[t.Literal["announced", "paid", "cancelled"]]
    #: Day of the announcement; null if unknown.
    announced: t.Optional[str]


AnnouncedDividends = t.TypedDict("AnnouncedDividends", {
    "dividends": t.Sequence["AnnouncedDividend"],
    "dividends_total": int,
    "points": float,
    "net_points": float,
    "yield": float,
})


class _AnyNode(t.TypedDict):
    node: t.Literal["any"]
    #: Nodes in any order.
    operands: t.Sequence[ExpressionNode]


class AnyNode(_AnyNode, total=False):
    """True if at least one operand is true."""

    #: Canonical text of the tree, at its root; ignored in requests.
    text: str


class _AnyNodeInput(t.TypedDict):
    node: t.Literal["any"]
    #: Nodes in any order.
    operands: t.Sequence[ExpressionNodeInput]


class AnyNodeInput(_AnyNodeInput, total=False):
    """True if at least one operand is true."""

    #: Canonical text of the tree, at its root; ignored in requests.
    text: str


class Approval(t.TypedDict):
    """Request for the approval of a second person."""

    #: Number, from 1 without gaps.
    approval_id: int
    #: Requested change.
    action: t.Literal["publish", "restate", "amend", "action", "override", "waive"]
    #: Id of the index, schedule or data store concerned.
    subject: str
    #: State of the approval.
    state: t.Literal["pending", "approved", "used", "rejected", "withdrawn", "expired"]
    #: Description of the change in a sentence.
    summary: str
    #: Facts for the decision, by kind. Null for requests of earlier versions that do not store them.
    facts: t.Optional[t.Union[PublishFacts, RestateFacts, AmendFacts, ActionFacts, OverrideFacts, WaiveFacts]]
    #: Members of `facts`. They have no fixed form.
    detail: t.Mapping[str, t.Any]
    #: Day of the schedule that requests the change; null for a request of a person.
    schedule_day: t.Optional[RequestingDay]
    #: SHA-256 of the approved content. A change with different content needs another approval.
    digest: str
    #: Time of the request.
    requested_at: str
    #: Name of the key of the request.
    requested_by: str
    #: Time after which the request can no longer be approved or used.
    expires_at: str
    #: Number of people who must agree, including the requester.
    persons: int
    #: Number of people who have not agreed yet.
    missing: int
    #: Request, comments and decisions, in order.
    history: t.Sequence[ApprovalStep]


class ApprovalCollection(t.TypedDict):
    #: Changes that need approval (`--approvals`).
    rules: t.Sequence[ApprovalRule]
    #: Newest first.
    approvals: t.Sequence[Approval]


class _ApprovalDecisionRequest(t.TypedDict):
    #: Decision about the request. Only the person who requested the change can use `withdraw`.
    decision: t.Literal["approve", "reject", "withdraw", "comment"]


class ApprovalDecisionRequest(_ApprovalDecisionRequest, total=False):
    #: Comment; required for a rejection.
    comment: t.Optional[str]


class ApprovalRule(t.TypedDict):
    #: Change.
    action: t.Literal["publish", "restate", "amend", "action", "override", "waive"]
    #: Number of people who must agree, including the requester.
    persons: int
    #: Names or ids of keys that can approve; null for every key with the scope.
    approvers: t.Optional[t.Sequence[str]]


class ApprovalStep(t.TypedDict):
    #: Time, ISO-8601 UTC with offset.
    at: str
    #: Name of the key; `local` without authentication.
    author: str
    #: Id of the key; null without authentication.
    key_id: t.Optional[str]
    #: Action taken.
    action: t.Literal["requested", "approved", "rejected", "withdrawn", "commented", "used"]
    #: Comment; null if there is none.
    comment: t.Optional[str]


class ApprovedClose(t.TypedDict):
    #: The date.
    date: str
    #: Price return level; null if there is none.
    price: t.Optional[float]
    #: Total return level; null if there is none.
    total: t.Optional[float]
    #: Net return level; null if there is none.
    net: t.Optional[float]


class ApprovedLevels(t.TypedDict):
    #: Price return level; null if there is none.
    price: t.Optional[float]
    #: Total return level; null if there is none.
    total: t.Optional[float]
    #: Net return level; null if there is none.
    net: t.Optional[float]


class _ArithmeticNode(t.TypedDict):
    node: t.Literal["arithmetic"]
    #: Operator between the operands. ^ is a power.
    operator: t.Literal["+", "-", "*", "/", "^"]
    #: Operands, in order.
    operands: t.Sequence[ExpressionNode]


class ArithmeticNode(_ArithmeticNode, total=False):
    """Operands from left to right; a single operand of - is negated."""

    #: Canonical text of the tree, at its root; ignored in requests.
    text: str


class _ArithmeticNodeInput(t.TypedDict):
    node: t.Literal["arithmetic"]
    #: Operator between the operands. ^ is a power.
    operator: t.Literal["+", "-", "*", "/", "^"]
    #: Operands, in order.
    operands: t.Sequence[ExpressionNodeInput]


class ArithmeticNodeInput(_ArithmeticNodeInput, total=False):
    """Operands from left to right; a single operand of - is negated."""

    #: Canonical text of the tree, at its root; ignored in requests.
    text: str


class AssetView(t.TypedDict):
    #: Version of the index or strategy; null for runs that were stored before versions existed.
    index_version: t.Optional[int]
    #: Data store on which the run was computed; null for runs that were stored without it.
    store_id: t.Optional[str]
    #: Causes why the run is stale; null if the stored run equals a new run of the request.
    stale: t.Optional[StaleState]
    #: The index, or the strategy of a run.
    index_id: str
    #: Asset identifier.
    identifier: str
    #: Covariance of the returns with the returns of the reference, divided by the variance of the returns of the reference.
    beta: float
    #: Correlation of the returns.
    correlation: float
    #: Return less the return of the reference.
    excess_return: float
    #: Return of the run over the same dates.
    index_return: float
    #: Last level divided by the first, less 1.
    total_return: float
    #: Annualised standard deviation of return differences.
    tracking_error: float
    #: Number of dates used.
    observations: int
    #: Rebalances at which the run held the security.
    rebalances_held: int
    #: CLOSE on the dates of the run.
    price: SeriesPayload
    #: Applied weight on each rebalance date on which the run held the security.
    weight_history: t.Mapping[str, float]
    #: Weight before capping, on the same dates.
    raw_weight_history: t.Mapping[str, float]


class AttributionView(t.TypedDict):
    #: Version of the index or strategy; null for runs that were stored before versions existed.
    index_version: t.Optional[int]
    #: Data store on which the run was computed; null for runs that were stored without it.
    store_id: t.Optional[str]
    #: Causes why the run is stale; null if the stored run equals a new run of the request.
    stale: t.Optional[StaleState]
    #: The index, or the strategy of a run.
    index_id: str
    #: Securities and the parts of an overlay, sorted by contribution (largest first) and identifier. They sum to total_return. The asset_id of a part is overlay/{index_id}/{part}; its weight and return are 0.
    contributions: t.Sequence[ContributionPayload]
    #: Sum of the contributions of securities: total_return, or for an overlay total_return less overlay_parts_sum.
    contributions_sum: float
    #: Sum of overlay_parts. The sum of contributions_sum and overlay_parts_sum is total_return. Null if there are no parts.
    overlay_parts_sum: t.Optional[float]
    #: Returns of an overlay that do not come from its constituents, which are also in contributions. Null for other indices.
    overlay_parts: t.Optional[t.Sequence[OverlayPart]]
    #: Last level divided by the first, less 1.
    total_return: float
    #: Number of periods.
    periods: int
    #: True if the residual is within its tolerance.
    reconciles: bool
    #: Residual, which contains only rounding errors.
    residual: float
    #: Return of the index less the return of the same index without its cap; null if there is no cap.
    cap_drag: t.Optional[float]
    #: Effect of transaction costs; null without costs.
    cost_drag: t.Optional[float]
    #: Requested value; the first date of the run if omitted.
    requested_start: t.Optional[str]
    #: Requested value; the last date of the run if omitted.
    requested_end: t.Optional[str]
    #: End of the first complete period, which is the session after the first date of the window. A full timestamp.
    start: str
    #: Latest date of the run on or before the requested end. A full timestamp.
    end: str


class _AuditEntry(t.TypedDict):
    #: Number, from 1 without gaps.
    seq: int
    #: Time of the write, ISO-8601 UTC with offset.
    at: str
    #: Name of the key; for the result of a job, name of the key that started it; `local` without authentication.
    author: str
    #: Id of the request; empty for a write of the service itself.
    request_id: str
    #: Note from the header X-Change-Note.
    note: t.Optional[str]
    #: Action on the document.
    action: t.Literal["created", "updated", "restored", "deleted", "purged", "loaded", "activated", "cancelled", "refused", "read"]
    #: Kind of the document, or of the other subject.
    kind: t.Literal["index", "strategy", "constraint-set", "template", "watchlist", "plugin", "store", "closures", "schedule", "procedure", "client", "judgement", "action-decision", "approval", "paused-kind", "run", "optimisation-run", "risk-model", "render", "publication", "publication-error", "data-version", "signing-key", "key", "job", "authentication", "read"]
    #: Id of the subject. For a run, the id of the index; for a publication with a number and for a data version, the id of the index or store. For a refused key, its address; for a read, the path.
    id: str
    #: Version that the write created; null for kinds without versions.
    version: t.Optional[int]
    #: SHA-256 of the written content; null for a deletion.
    etag: t.Optional[str]
    #: Hash of the previous entry; 64 zeros in the first.
    previous: str
    #: SHA-256 of the canonical JSON of the entry without hash.
    hash: str


class AuditEntry(_AuditEntry, total=False):
    #: Id of the key, or `sub:` and the subject of the token; absent without authentication.
    key_id: str
    #: Id of the run; absent for other kinds.
    run_id: str


class AuditHead(t.TypedDict):
    #: Number of the last entry; 0 for an empty log.
    seq: int
    #: Hash of the last entry.
    hash: str


class AuditLog(t.TypedDict):
    #: Position and hash of the last entry. Record them outside the service.
    head: AuditHead
    #: Signatures of the log after `after`. Each request for the log signs it up to its end.
    seals: t.Sequence[AuditSeal]
    #: Keys of the signatures, oldest first.
    keys: t.Sequence[PublicKey]
    #: Number of stored documents that are omitted because they cannot be read.
    skipped: int
    #: Number of omitted documents by cause.
    skipped_causes: SkippedCauses
    #: Entries, in the order of the log.
    entries: t.Sequence[AuditEntry]


class _AuditSeal(t.TypedDict):
    #: Number of the last entry that the seal covers.
    seq: int
    #: Hash of that entry, which depends on all earlier entries.
    entry_hash: str
    #: Time of the signature, ISO-8601 UTC with offset.
    at: str
    #: SHA-256 of the canonical JSON of the seal without hash and signature.
    hash: str
    #: Key of the signature, as for published logs.
    key_id: str
    #: Ed25519 signature of the 32 bytes of hash, in base64.
    signature: str


class AuditSeal(_AuditSeal, total=False):
    #: Hash of the previous seal; 64 zeros in the first seal; absent in seals of earlier versions, which were not chained.
    previous: str


class BackfilledDays(t.TypedDict):
    #: Sessions whose days are performed.
    dates: t.Sequence[str]


class BacktestBatch(t.TypedDict):
    #: One entry for each id, in the order of the request.
    backtests: t.Sequence[BacktestBatchEntry]
    #: Number of entries with a job.
    queued: int
    #: Number of entries with a stored run that is current.
    current: int
    #: Number of entries with an error.
    refused: int


class BacktestBatchEntry(t.TypedDict):
    #: The index, or the strategy of a run.
    index_id: str
    #: `queued`: a job runs the backtest. `current` (with `if_stale`): the stored run equals a new run of the request. `refused`: see `error`.
    outcome: t.Literal["queued", "current", "refused"]
    #: Job of the entry; only if it is queued.
    job: t.Optional[BacktestJobStatus]
    #: Error of the backtest of this id; only if it is refused.
    error: t.Optional[ErrorDetail]


class _BacktestBatchRequest(t.TypedDict):
    #: Indices and strategies, at most 500. Duplicates are counted once.
    ids: t.Sequence[str]


class BacktestBatchRequest(_BacktestBatchRequest, total=False):
    """The settings apply to every id, as in a single backtest. With `if_stale`, omitted settings have the values of the stored run of each id."""

    #: Benchmark: a second comparison in addition to the tracked index. Identifier (for example `identifier:SPX`), or an object that names another column than CLOSE.
    benchmark: t.Optional[t.Union[BenchmarkRefInput, str]]
    #: First day. Default: the base date of the index. Earlier days are not possible.
    start: t.Optional[Date]
    #: Last day. Default: the last day of the data.
    end: t.Optional[Date]
    #: Initial value of the portfolio, in the index currency.
    initial_capital: float
    #: Cost of a trade in basis points of its notional.
    transaction_cost_bps: float
    #: Version of the data: a number, or the newest version known at a time (for a date: its end, in UTC).
    as_known_on: t.Union[int, str]
    #: Each rebalance uses the newest version of the data known at the end of its decision date. Levels are computed from the data of the run.
    as_known: t.Literal["decision"]
    #: Data store of the run, for an index without a store. Default: the active store.
    store_id: str
    #: Run only if the stored run is stale for this request; otherwise return its result. Omitted fields have the values of the stored run.
    if_stale: bool


class BacktestJobStatus(t.TypedDict):
    #: {kind}:{id}, for example backtest:LARGE-100.
    job_id: str
    kind: t.Literal["backtest"]
    #: Order in which waiting jobs start.
    priority: t.Literal["high", "normal", "low"]
    #: pending -> running -> succeeded, failed or cancelled. Terminal states never change.
    status: t.Literal["pending", "running", "succeeded", "failed", "cancelled"]
    #: Completed fraction: 0 while pending, exactly 1 after success. It never decreases during an attempt.
    progress: float
    #: Current step.
    message: str
    #: Error of the job; only if it failed.
    error: t.Optional[ErrorDetail]
    #: Time of the submission, ISO-8601 UTC with offset.
    created_at: str
    #: Start of the current attempt.
    started_at: t.Optional[str]
    #: Time of the end, ISO-8601 UTC with offset; null while it has not ended.
    finished_at: t.Optional[str]
    #: Time of the last heartbeat of the running attempt.
    heartbeat_at: t.Optional[str]
    #: Number of starts, which is recorded before the work starts.
    attempt: int
    #: Latest attempts in order, at most eleven. The last one is the current attempt.
    attempts: t.Sequence[JobAttempt]
    #: Request body as it was accepted.
    request: t.Any
    #: SHA-256 of all inputs except the market.
    input_hash: str
    #: X-Request-Id of the submission, which log lines of the job contain. Null if the service submitted the job.
    request_id: t.Optional[str]
    #: Trace of the submission, from its header traceparent.
    trace_id: t.Optional[str]
    #: Addresses that are notified when the job ends.
    callbacks: t.Sequence[JobCallback]
    #: Result of the job, if it succeeded. Null if the run of a backtest was deleted.
    result: t.Optional[BacktestRunResult]


class BacktestMetrics(t.TypedDict):
    #: (1 + total_return)^(y / n) - 1, where y is the number of sessions per year: 252, or 365 if the calendar trades every day. A fraction.
    annualised_return: float
    #: Lowest drawdown, at most 0. A fraction.
    max_drawdown: float
    #: Mean return x sessions per year / volatility, with a risk-free rate of 0; 0 without volatility.
    sharpe_ratio: float
    #: Last level divided by the first, less 1. A fraction.
    total_return: float
    #: total_return less the total return of the tracked index; null if the index is measured.
    tracking_difference: t.Optional[float]
    #: Annualised standard deviation of the return differences to the tracked index; null if the index is measured.
    tracking_error: t.Optional[float]
    #: Annualised standard deviation of returns. A fraction.
    volatility: float


class BacktestRecordCollection(t.TypedDict):
    #: Stored records by id.
    backtests: t.Sequence[BacktestRecordRow]
    #: Number of stored documents that are omitted because they cannot be read.
    skipped: int
    #: Number of omitted documents by cause.
    skipped_causes: SkippedCauses


class BacktestRecordRow(t.TypedDict):
    #: Version of the index or strategy; null for runs that were stored before versions existed.
    index_version: t.Optional[int]
    #: Data store on which the run was computed; null for runs that were stored without it.
    store_id: t.Optional[str]
    #: Causes why the run is stale; null if the stored run equals a new run of the request.
    stale: t.Optional[StaleState]
    #: The index, or the strategy of a run.
    index_id: str
    #: Time of the run, ISO-8601 UTC with offset.
    run_at: t.Optional[str]


class BacktestRequest(t.TypedDict, total=False):
    """Default of an omitted field. With `if_stale`, the value of the stored run; otherwise the value of the strategy, if one is run; otherwise the default of the field."""

    #: Benchmark: a second comparison in addition to the tracked index. Identifier (for example `identifier:SPX`), or an object that names another column than CLOSE.
    benchmark: t.Optional[t.Union[BenchmarkRefInput, str]]
    #: First day. Default: the base date of the index. Earlier days are not possible.
    start: t.Optional[Date]
    #: Last day. Default: the last day of the data.
    end: t.Optional[Date]
    #: Initial value of the portfolio, in the index currency.
    initial_capital: float
    #: Cost of a trade in basis points of its notional.
    transaction_cost_bps: float
    #: Version of the data: a number, or the newest version known at a time (for a date: its end, in UTC).
    as_known_on: t.Union[int, str]
    #: Each rebalance uses the newest version of the data known at the end of its decision date. Levels are computed from the data of the run.
    as_known: t.Literal["decision"]
    #: Data store of the run, for an index without a store. Default: the active store.
    store_id: str
    #: Run only if the stored run is stale for this request; otherwise return its result. Omitted fields have the values of the stored run.
    if_stale: bool


class BacktestResultSummary(t.TypedDict):
    #: Version of the index or strategy; null for runs that were stored before versions existed.
    index_version: t.Optional[int]
    #: Data store on which the run was computed; null for runs that were stored without it.
    store_id: t.Optional[str]
    #: Causes why the run is stale; null if the stored run equals a new run of the request.
    stale: t.Optional[StaleState]
    #: Benchmark of the comparison; null if there is none.
    benchmark: t.Optional[BookPayload]
    #: Series of the index: target and optimised.
    index: IndexBooksPayload
    #: Figures of the run.
    metrics: BacktestMetrics
    #: Simulated portfolio.
    portfolio: PortfolioBookPayload
    #: Days on which a holding or target had no bar although its exchange was open.
    price_gaps: t.Sequence[PriceGapPayload]
    #: For each rebalance, the session of the prices of its trades.
    rebalance_pricing: t.Sequence[RebalancePricingPayload]
    #: Time of the run, ISO-8601 UTC with offset.
    run_at: t.Optional[str]
    #: Orders that could not be filled on their day.
    unfilled: t.Sequence[UnfilledOrderPayload]
    #: Warnings of the run.
    findings: t.Sequence[Finding]
    #: SHA-256 of the engine version, the definitions, the request, and the content and declarations (price basis, currency) of the store. Equal hashes mean equal results.
    run_hash: str
    #: SHA-256 of the data that was read.
    store_content_hash: str
    #: Version of the engine that computed the result.
    engine_version: str
    #: Last date of the stored run that this run extends; its numbers equal those of a full run. Null for a full run.
    extended_from: t.Optional[str]
    #: Reason why a stored run was not extended. Null if it was extended, or if there was no stored run. Runs stored by earlier builds have `parted` for `holdings_diverged` and `rewritten` for `file_rewritten`.
    full_run_reason: t.Optional[t.Literal["definition_changed", "request_changed", "no_checkpoint", "names_changed", "history_changed", "no_new_session", "rebalance", "new_name", "holdings_diverged", "breach", "member_change", "default_changed", "overlay", "file_rewritten", "parted", "rewritten"]]


class _BacktestRunResult(t.TypedDict):
    #: Return of each calendar year. The returns compound to the total return.
    annual_returns: t.Mapping[str, float]
    #: Benchmark of the comparison; null if there is none.
    benchmark: t.Optional[RelativeMetricsPayload]
    #: Level relative to its running peak, less 1; 0 at a high.
    drawdown: SeriesPayload
    #: Level of the tracked index, rebased to 100 on the same dates.
    index_level: SeriesPayload
    #: Initial capital of the portfolio.
    initial_capital: float
    #: Level, 100 at the start.
    level: SeriesPayload
    #: Figures of the run.
    metrics: BacktestMetrics
    #: Days on which a holding or target had no bar although its exchange was open.
    price_gaps: t.Sequence[PriceGapPayload]
    #: For each rebalance, the session of the prices of its trades.
    rebalance_pricing: t.Sequence[RebalancePricingPayload]
    #: Compositions of the run, beginning with the composition in force at the start.
    rebalances: t.Sequence[RebalanceSnapshot]
    #: Total number of compositions. It exceeds the number of returned compositions only if the weights exceed the maximum size of a result.
    rebalances_total: int
    #: Returns of the level, beginning with the second date.
    returns: SeriesPayload
    #: Transaction costs paid.
    total_costs: float
    #: Warnings of the run.
    findings: t.Sequence[Finding]
    #: SHA-256 of the engine version, the definitions, the request, and the content and declarations (price basis, currency) of the store. Equal hashes mean equal results.
    run_hash: str
    #: SHA-256 of the data that was read.
    store_content_hash: str
    #: Version of the engine that computed the result.
    engine_version: str
    #: Last date of the stored run that this run extends; its numbers equal those of a full run. Null for a full run.
    extended_from: t.Optional[str]
    #: Reason why a stored run was not extended. Null if it was extended, or if there was no stored run. Runs stored by earlier builds have `parted` for `holdings_diverged` and `rewritten` for `file_rewritten`.
    full_run_reason: t.Optional[t.Literal["definition_changed", "request_changed", "no_checkpoint", "names_changed", "history_changed", "no_new_session", "rebalance", "new_name", "holdings_diverged", "breach", "member_change", "default_changed", "overlay", "file_rewritten", "parted", "rewritten"]]


class BacktestRunResult(_BacktestRunResult, total=False):
    #: Version of the index or strategy. Null if it has none; absent in results of earlier versions.
    index_version: t.Optional[int]


class BarChartBlock(t.TypedDict):
    kind: t.Literal["bar_chart"]
    #: Title that is printed above the block.
    title: t.Optional[str]
    #: Index (or strategy) whose latest run the block shows.
    index_id: t.Optional[str]
    #: Width of the block. Two consecutive half blocks are placed next to each other.
    width: t.Literal["full", "half"]
    #: Source of the bars. `annual_returns`: return of each calendar year; `top_weights`: largest weights on the last date; `sector_weights`: weight of each sector on the last date, beginning with the largest; `contributions`: largest contributors to the return of the portfolio, followed by the largest detractors; `liquidation`: fraction of a portfolio of `aum` that can be sold within a number of days at a tenth of the daily volume; the portfolio held the index before its latest rebalance; empty for an overlay; `literal`: the values of `values`.
    source: t.Literal["annual_returns", "top_weights", "sector_weights", "contributions", "liquidation", "literal"]
    #: Maximum number of bars, with equal numbers of contributors and detractors. A single further sector is shown; several further sectors are added up.
    limit: int
    #: Value of the portfolio that is sold, in the currency of the index.
    aum: float
    #: Values by label, for a literal chart.
    values: t.Optional[t.Mapping[str, float]]


class _BarChartBlockInput(t.TypedDict):
    kind: t.Literal["bar_chart"]


class BarChartBlockInput(_BarChartBlockInput, total=False):
    #: Title that is printed above the block.
    title: t.Optional[str]
    #: Index (or strategy) whose latest run the block shows.
    index_id: t.Optional[str]
    #: Width of the block. Two consecutive half blocks are placed next to each other.
    width: t.Literal["full", "half"]
    #: Source of the bars. `annual_returns`: return of each calendar year; `top_weights`: largest weights on the last date; `sector_weights`: weight of each sector on the last date, beginning with the largest; `contributions`: largest contributors to the return of the portfolio, followed by the largest detractors; `liquidation`: fraction of a portfolio of `aum` that can be sold within a number of days at a tenth of the daily volume; the portfolio held the index before its latest rebalance; empty for an overlay; `literal`: the values of `values`.
    source: t.Literal["annual_returns", "top_weights", "sector_weights", "contributions", "liquidation", "literal"]
    #: Maximum number of bars, with equal numbers of contributors and detractors. A single further sector is shown; several further sectors are added up.
    limit: int
    #: Value of the portfolio that is sold, in the currency of the index.
    aum: float
    #: Values by label, for a literal chart.
    values: t.Optional[t.Mapping[str, float]]


class _BatchAccount(t.TypedDict):
    #: Id of the account; null if it has none.
    account_id: t.Optional[str]
    #: `optimal`: the gap is at most 1e-8 of the value. `feasible`: the gap is larger. `infeasible`: see `conflicts`. `refused`: see `findings`.
    status: t.Literal["optimal", "feasible", "infeasible", "refused"]
    #: Reasons why the account was refused.
    findings: t.Sequence[Finding]


class BatchAccount(_BatchAccount, total=False):
    """Result of one account."""

    #: Sales by lot, and purchases. Empty for an infeasible account.
    trades: t.Sequence[BatchTrade]
    #: Lots after the trades; null for an account of more than 500 lots.
    lots_after: t.Optional[t.Sequence[BatchLot]]
    #: Cash and lots at the prices of the day.
    value: float
    #: Cash after trades and costs.
    cash: float
    #: Trading costs.
    costs: float
    #: Annual tracking error after the trades.
    tracking_error: float
    #: Annual tracking error before the trades.
    tracking_error_before: float
    #: Taxed short-term gains of the trades.
    short_gain: float
    #: Taxed long-term gains of the trades.
    long_gain: float
    #: Losses that the wash sale rule adds to the basis of other shares; absent in results of earlier versions.
    disallowed_loss: float
    #: Part of the disallowed losses that is added to shares of `recent` purchases that are not lots of the account.
    disallowed_elsewhere: float
    #: Tax of the year after the trades, in money.
    tax: float
    #: Tax saved compared with selling the oldest lots first.
    tax_saved: float
    #: Conflicting rules of an infeasible account. If any one of them is removed, the others can be satisfied.
    conflicts: t.Sequence[str]
    #: Amount by which each of these rules must be relaxed if all other rules of the account are satisfied: tracking error, weight (for exclusions, the weight that remains), or money for `tax.budget` and `tax.limit`. Null for rules without an amount, and if no amount is sufficient.
    conflict_amounts: t.Mapping[str, t.Optional[float]]
    #: Weight of each excluded security that must remain if all other rules are satisfied.
    conflict_exclusions: t.Mapping[str, float]
    #: Proof of the gap, which can be verified without a solver.
    certificate: BatchCertificate


class BatchAccounts(t.TypedDict):
    #: The batch.
    batch_id: str
    #: Accounts of all blocks.
    count: int
    #: Number of the block, from 0.
    block: int
    #: Number of blocks.
    blocks: int
    #: Entries, in the order of the request.
    accounts: t.Sequence[BatchAccount]


class BatchBranchesSteps(t.TypedDict):
    #: Position of the security in the account.
    security: int
    #: Largest net trade of the first part, as a weight.
    below: float
    #: Smallest net trade of the second part.
    above: float


class BatchBranchesSteps2(t.TypedDict):
    #: Position of the multipliers of the region.
    multipliers: int


class BatchBranchesSteps3(t.TypedDict):
    #: All lots for the only net trades of the region were tried.
    evaluated: bool


class BatchBranchesMultipliers(t.TypedDict):
    #: Factor exposures of the tangent.
    exposures: t.Sequence[float]
    #: Multiplier of the tracking error limit.
    variance: float
    #: Multipliers of the rows and of the pieces of the tax.
    rows: t.Sequence[float]


class BatchBranches(t.TypedDict):
    #: Divisions of the permitted trades, and how the bound of each region is proved, first parts first.
    steps: t.Sequence[t.Union[BatchBranchesSteps, BatchBranchesSteps2, BatchBranchesSteps3]]
    #: Multipliers of regions.
    multipliers: t.Sequence[BatchBranchesMultipliers]


class _BatchCertificateSides(t.TypedDict):
    #: 0 for the side of net long-term gains, 1 for the side of net long-term losses.
    side: int
    #: Bound of this side.
    bound: float
    #: Factor exposures of the tangent.
    exposures: t.Sequence[float]
    #: Multiplier of the tracking error limit.
    variance: float
    #: Multipliers of the rows and of the pieces of the tax.
    rows: t.Sequence[float]


class BatchCertificateSides(_BatchCertificateSides, total=False):
    #: Position among the undivided regions.
    region: int
    #: Proof of the bound by branch and bound; null without a search. Absent in results of earlier versions.
    branches: t.Optional[BatchBranches]


class BatchCertificateRegions(t.TypedDict):
    #: Security whose number of shares sold is divided.
    identifier: str
    #: Most shares sold in the first part.
    below: float
    #: Least shares sold in the second part.
    above: float


class BatchCertificateRegions2(t.TypedDict):
    #: Position of a lot that is not sold whole in the first part.
    lot: int


class BatchCertificateRegions3(t.TypedDict):
    #: Position of a group of substitutes that is not bought in the first part, and not sold at a loss in the second.
    substitutes: int


class BatchCertificateRegions4(t.TypedDict):
    #: Region with certificates in `sides`.
    undivided: bool


class _BatchCertificate(t.TypedDict):
    #: Objective of the trades, as a fraction of the value.
    objective: float
    #: Lower bound of the objective over all permitted trades.
    bound: float
    #: Objective less bound; 0 for an infeasible account.
    gap: float
    #: Largest violation of a hard constraint.
    primal_residual: float
    #: Proofs for net long-term gains and for net long-term losses.
    sides: t.Sequence[BatchCertificateSides]


class BatchCertificate(_BatchCertificate, total=False):
    #: Divisions of the permitted trades where the sale of a lot changes the disallowed losses of others, first parts first; null without a division. Absent in results of earlier versions.
    regions: t.Optional[t.Sequence[t.Union[BatchCertificateRegions, BatchCertificateRegions2, BatchCertificateRegions3, BatchCertificateRegions4]]]


class BatchCollection(t.TypedDict):
    #: Batches, newest first. The job of a batch contains the refused accounts.
    batches: t.Sequence[BatchView]


class BatchCommonData(t.TypedDict):
    """Data that all accounts of a batch use, including its terms."""

    #: The resolved date.
    as_of: str
    #: Securities that an account can hold, [N].
    identifiers: t.Sequence[str]
    #: Prices per share, [N].
    prices: t.Sequence[float]
    #: Weights in the parent, [N].
    weights: t.Sequence[float]
    #: Number of factors, K.
    factors: int
    #: Annualised factor exposures, [N x K].
    loadings: t.Sequence[float]
    #: Specific variances, annualised, [N].
    specific: t.Sequence[float]


class BatchJobStatus(t.TypedDict):
    #: {kind}:{id}, for example backtest:LARGE-100.
    job_id: str
    kind: t.Literal["batch"]
    #: Order in which waiting jobs start.
    priority: t.Literal["high", "normal", "low"]
    #: pending -> running -> succeeded, failed or cancelled. Terminal states never change.
    status: t.Literal["pending", "running", "succeeded", "failed", "cancelled"]
    #: Completed fraction: 0 while pending, exactly 1 after success. It never decreases during an attempt.
    progress: float
    #: Current step.
    message: str
    #: Error of the job; only if it failed.
    error: t.Optional[ErrorDetail]
    #: Time of the submission, ISO-8601 UTC with offset.
    created_at: str
    #: Start of the current attempt.
    started_at: t.Optional[str]
    #: Time of the end, ISO-8601 UTC with offset; null while it has not ended.
    finished_at: t.Optional[str]
    #: Time of the last heartbeat of the running attempt.
    heartbeat_at: t.Optional[str]
    #: Number of starts, which is recorded before the work starts.
    attempt: int
    #: Latest attempts in order, at most eleven. The last one is the current attempt.
    attempts: t.Sequence[JobAttempt]
    #: Request body as it was accepted.
    request: t.Any
    #: SHA-256 of all inputs except the market.
    input_hash: str
    #: X-Request-Id of the submission, which log lines of the job contain. Null if the service submitted the job.
    request_id: t.Optional[str]
    #: Trace of the submission, from its header traceparent.
    trace_id: t.Optional[str]
    #: Addresses that are notified when the job ends.
    callbacks: t.Sequence[JobCallback]
    #: Result of the job, if it succeeded. Null if the run of a backtest was deleted.
    result: t.Optional[BatchView]


class _BatchLot(t.TypedDict):
    #: Position of the lot in the account; null for a purchase.
    lot: t.Optional[int]
    #: Asset identifier.
    identifier: str
    #: Number of shares.
    shares: float
    #: Cost basis per share, including disallowed losses.
    cost: float
    #: Day of the purchase. With `bought`, the day before the holding period begins.
    acquired: str
    #: Value less cost.
    unrealised_gain: float


class BatchLot(_BatchLot, total=False):
    #: Day of the purchase of shares that have replaced shares sold at a loss; absent for other lots.
    bought: str


class BatchObjective(t.TypedDict, total=False):
    #: Penalty of the annual tracking variance, as a fraction of the value.
    risk_aversion: float
    #: Cost of a trade in basis points.
    cost_bps: float
    #: Minimum weight of cash after the trades.
    cash_minimum: float
    #: Maximum weight of cash after the trades.
    cash_maximum: float


class BatchReferenceResponse(t.TypedDict):
    #: One entry per requested identifier, in the order of the request.
    entries: t.Sequence[ReferenceEntry]
    #: Point-in-time date that was applied, if one was requested.
    as_of: t.Optional[str]


class _BatchRequest(t.TypedDict):
    #: Index that the accounts follow.
    parent: str
    #: Stored factor model.
    risk_model: str
    #: Accounts. An invalid account has findings in its result, and all other accounts are solved.
    accounts: t.Sequence[t.Any]


class BatchRequest(_BatchRequest, total=False):
    #: Id of the result. Default: a generated id.
    batch_id: t.Optional[str]
    #: Objective: an object with a type of `/optimise/objective-types` and its parameters, or only the type. A derived index accepts only the type `min_tracking_error` without an object.
    objective: BatchObjective
    #: Constraints. Without constraints, weights are long-only and add up to 1.
    constraints: t.Sequence[BatchRow]
    #: True limits trades to whole shares.
    whole_shares: bool
    #: Default: the last session of the data.
    as_of: t.Optional[Date]
    #: Maximum number of branches per account if rounding leaves a gap; 0 turns the search off.
    search_nodes: int
    #: Values of the fields that an account omits; `tax` field by field.
    defaults: AccountDefaults


class BatchRow2Params(t.TypedDict, total=False):
    #: Smallest weight.
    lower: float
    #: Largest weight.
    upper: float


class _BatchRow2(t.TypedDict):
    type: t.Literal["PositionBounds"]
    #: Parameters of the type, by name.
    params: BatchRow2Params


class BatchRow2(_BatchRow2, total=False):
    #: Name of the constraint in results. Default: its position.
    id: str


class _BatchRow3Params(t.TypedDict):
    #: Reference field.
    field: str


class BatchRow3Params(_BatchRow3Params, total=False):
    #: Smallest weight.
    lower: float
    #: Largest weight.
    upper: float
    #: Penalty per unit of violation, as a fraction of the value. Without it, the constraint cannot be violated.
    penalty: float


class _BatchRow3(t.TypedDict):
    type: t.Literal["GroupBounds"]
    #: Parameters of the type, by name.
    params: BatchRow3Params


class BatchRow3(_BatchRow3, total=False):
    #: Name of the constraint in results. Default: its position.
    id: str


class _BatchRow4Params(t.TypedDict):
    #: Reference field.
    field: str


class BatchRow4Params(_BatchRow4Params, total=False):
    #: Smallest weight.
    lower: float
    #: Largest weight.
    upper: float
    #: Penalty per unit of violation, as a fraction of the value. Without it, the constraint cannot be violated.
    penalty: float


class _BatchRow4(t.TypedDict):
    type: t.Literal["ActiveGroupBounds"]
    #: Parameters of the type, by name.
    params: BatchRow4Params


class BatchRow4(_BatchRow4, total=False):
    #: Name of the constraint in results. Default: its position.
    id: str


BatchRow = t.Union["BatchRow2", "BatchRow3", "BatchRow4"]

class _BatchTrade(t.TypedDict):
    #: Asset identifier.
    identifier: str
    #: Direction of the trade.
    side: t.Literal["buy", "sell"]
    #: Number of shares.
    shares: float
    #: Price per share in the currency of the index.
    price: float
    #: Shares times price.
    value: float


class BatchTrade(_BatchTrade, total=False):
    #: Position of the sold lot in the account.
    lot: int
    #: `acquired` of the lot.
    acquired: str
    #: Cost basis per share.
    cost: float
    #: Realised gain that is taxed; 0 if the loss is disallowed.
    gain: float
    #: Loss added to the basis of the replacement. A lot of which only a part is disallowed has two sales.
    disallowed_loss: float
    #: Holding period of the lot.
    term: t.Literal["short", "long"]


class BatchViewRefused(t.TypedDict):
    #: Id of the account; null if it has none.
    account_id: t.Optional[str]
    #: Position in the request, from 0.
    position: int
    #: Reasons.
    findings: t.Sequence[Finding]


class _BatchView(t.TypedDict):
    #: The batch.
    batch_id: str
    #: Index that the accounts follow.
    parent: str
    #: Stored factor model.
    risk_model: str
    #: The resolved date.
    as_of: str
    #: Accounts of the batch.
    accounts: int
    #: Accounts by status.
    by_status: t.Mapping[str, int]
    #: Percentiles of the annual tracking error after the trades: p0, p5, p25, p50, p75, p95, p100.
    tracking_error: t.Optional[t.Mapping[str, float]]
    #: Largest gap of a certificate, as a fraction of the value.
    largest_gap: t.Optional[float]
    #: Value of the solved accounts.
    value: float
    #: Tax of the trades.
    tax: float
    #: Tax saved compared with selling the oldest lots first.
    tax_saved: float
    #: Trading costs.
    costs: float
    #: Trades that the wash sale rule prevented.
    avoided_wash_sales: int
    #: Number of infeasible accounts by conflicting rule.
    conflicts: t.Mapping[str, int]
    #: The first 100 accounts that are invalid.
    refused: t.Sequence[BatchViewRefused]
    #: Blocks of 100 accounts, see GET /optimise/batches/{batch_id}/accounts.
    blocks: int
    #: SHA-256 of the data that was read.
    store_content_hash: str
    #: Version of the engine that computed the result.
    engine_version: str


class BatchView(_BatchView, total=False):
    #: Percentiles of the annual tracking error of the same accounts before the trades; absent in results of earlier versions.
    tracking_error_before: t.Optional[t.Mapping[str, float]]


class BenchmarkFieldExposure2(t.TypedDict):
    #: Mean of the datapoint, weighted by the holdings. One value per date; null if no holding has a value.
    mean: t.Sequence[t.Optional[float]]
    #: Fraction of the absolute weights that belongs to securities with a value. One value per date.
    coverage: t.Sequence[float]
    #: Weighted quantile: the smallest value for which the securities with at most this value have this fraction of the weights.
    percentiles: WeightedPercentiles


#: Exposure of the benchmark; null if there is none.
BenchmarkFieldExposure = t.Optional["BenchmarkFieldExposure2"]

class BenchmarkRef(t.TypedDict):
    #: Index id, or market-data identifier.
    id: str
    #: `index`: a stored definition. `identifier`: a security of the market or a series.
    kind: t.Literal["index", "identifier"]
    #: Column of the market; ignored if kind is `index`.
    price_column: str


class _BenchmarkRefInput(t.TypedDict):
    #: Index id, or market-data identifier.
    id: str
    #: `index`: a stored definition. `identifier`: a security of the market or a series.
    kind: t.Literal["index", "identifier"]


class BenchmarkRefInput(_BenchmarkRefInput, total=False):
    #: Column of the market; ignored if kind is `index`.
    price_column: str


class BenchmarkStatementCalendar(t.TypedDict):
    #: Exchange whose sessions determine the closes.
    code: str
    #: Last day whose closures come from a published list.
    covered_to: t.Optional[str]


class BenchmarkStatementInputs(t.TypedDict):
    #: Underlying indices.
    indices: t.Sequence[str]
    #: Price basis of the served store; null if no store is served.
    adjustment: t.Optional[str]
    #: Data that the index uses, in order of preference.
    hierarchy: t.Sequence[str]


class BenchmarkStatementDiscretionApprovals(t.TypedDict):
    #: Change.
    action: t.Literal["publish", "restate", "amend", "action", "override", "waive"]
    #: Number of people who must agree.
    persons: int


class BenchmarkStatementDiscretion(t.TypedDict):
    #: Changes that need the agreement of several people.
    approvals: t.Sequence[BenchmarkStatementDiscretionApprovals]
    #: Decisions about days of the schedules, newest first; at most 50. A waiver lists the findings about the index and its parents. Days that were performed without a reason are not listed.
    judgements: t.Sequence[Judgement]
    #: Prices that replace prices of the source, for securities that the run holds or buys at that close. Latest session first; at most 50.
    overrides: t.Sequence[PriceOverride]


class BenchmarkStatementReview(t.TypedDict):
    #: Frequency of the reviews of its constituents.
    frequency: str
    #: Next effective dates of reviews.
    upcoming: t.Sequence[str]


class BenchmarkStatementPublication(t.TypedDict):
    #: First published date.
    first: str
    #: Last published date.
    through: str
    #: Number of closes that were published for the first time.
    closes: int
    #: Number of closes that were published again.
    restatements: int
    #: Version of the definition of the last published close; null if it is unknown.
    index_version: t.Optional[int]


class BenchmarkStatement(t.TypedDict):
    #: The index, or the strategy of a run.
    index_id: str
    #: Display name.
    name: str
    #: Time at which the statement was generated.
    generated_at: str
    #: Version of the definition that the statement describes: the version of the last published close. Default: the newest.
    version: t.Optional[int]
    #: Newest version of the definition. It is not published if it differs from `version`.
    latest_version: t.Optional[int]
    #: Description of the index: the market that it measures.
    purpose: t.Optional[str]
    #: The definition in sentences.
    methodology: t.Sequence[str]
    #: Calendar of the index.
    calendar: BenchmarkStatementCalendar
    #: Input data.
    inputs: BenchmarkStatementInputs
    #: Discretion of the administrator, with records of its use.
    discretion: BenchmarkStatementDiscretion
    #: Circumstances in which the index may not represent its market.
    limitations: t.Sequence[str]
    #: Versions of the definition up to the described version, newest first; at most 50.
    changes: t.Sequence[MethodologyChange]
    #: Dated changes of the definition.
    amendments: t.Sequence[Amendment]
    #: Reviews of constituents.
    review: BenchmarkStatementReview
    #: Published closes; null if there are none.
    publication: t.Optional[BenchmarkStatementPublication]
    #: Register of errors, newest first; at most 50.
    errors: t.Sequence[PublishedError]
    #: Procedures of the administrator that apply to the index.
    procedures: t.Sequence[Procedure]


class BenchmarkStatistics(t.TypedDict):
    #: Number of dates in both series.
    observations: int
    #: Return of the benchmark over the common dates. A fraction.
    benchmark_return: float
    #: Return over the common dates, less the return of the benchmark. A fraction.
    excess_return: float
    #: Annualised standard deviation of the return differences to the benchmark. A fraction.
    tracking_error: float
    #: Mean active return x sessions per year, divided by the annualised standard deviation of active returns.
    information_ratio: t.Optional[float]
    #: Geometric mean return divided by the geometric mean return of the benchmark, on sessions with a positive benchmark return; null if there are none.
    up_capture: t.Optional[float]
    #: Same ratio as up_capture, on sessions with a negative benchmark return.
    down_capture: t.Optional[float]


class BetaParams(t.TypedDict, total=False):
    """The beta of the portfolio to the index is between two bounds. It is computed from the covariance of the problem."""

    #: Smallest beta.
    lower: t.Optional[float]
    #: Largest beta.
    upper: t.Optional[float]
    #: Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated.
    soft: t.Optional[float]
    #: Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy.
    priority: int


class _BetaRow(t.TypedDict):
    type: t.Literal["Beta"]


class BetaRow(_BetaRow, total=False):
    #: Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position.
    id: str
    #: Parameters of the type, by name.
    params: BetaParams


class _BlackLittermanReturns(t.TypedDict):
    type: t.Literal["black_litterman"]


class BlackLittermanReturns(_BlackLittermanReturns, total=False):
    """Returns in excess of cash for which the index is optimal, adjusted by views according to their confidence and the covariances."""

    #: Expected returns of portfolios, each with a confidence. An empty list keeps the prior.
    views: t.Sequence[View]
    #: Variance of the prior, as a fraction of the covariance.
    tau: float
    #: Expected return of the index in excess of cash per unit of its variance.
    risk_aversion: float


class BlendOverlayParts(t.TypedDict):
    #: Index of the part.
    index_id: str
    #: Weight at each rebalance of the blend.
    weight: float


class _BlendOverlay(t.TypedDict):
    type: t.Literal["blend"]
    #: Indices and their weights, with a sum of 1.
    parts: t.Sequence[BlendOverlayParts]
    #: Dates on which the weights are restored.
    rebalance: RebalanceSpec


class BlendOverlay(_BlendOverlay, total=False):
    """Several indices with fixed weights, which are restored on a separate schedule."""

    #: Return variant of every part. Default: the variant of the first part.
    variant: t.Literal["price", "total", "net"]
    #: Cost of changes of exposure at the close, in basis points of the traded amount. Default: 0.
    cost_bps: float


class BlendOverlayInputParts(t.TypedDict):
    #: Index of the part.
    index_id: str
    #: Weight at each rebalance of the blend.
    weight: float


class _BlendOverlayInput(t.TypedDict):
    type: t.Literal["blend"]
    #: Indices and their weights, with a sum of 1.
    parts: t.Sequence[BlendOverlayInputParts]


class BlendOverlayInput(_BlendOverlayInput, total=False):
    """Several indices with fixed weights, which are restored on a separate schedule."""

    #: Dates on which the weights are restored.
    rebalance: RebalanceSpecInput
    #: Return variant of every part. Default: the variant of the first part.
    variant: t.Literal["price", "total", "net"]
    #: Cost of changes of exposure at the close, in basis points of the traded amount. Default: 0.
    cost_bps: float


class _BookPayload(t.TypedDict):
    #: Level in index points, starting at the base value. A benchmark with only a series of levels is rebased to 100.
    levels: SeriesPayload
    #: Held weights after each close, dates by identifier, for the latest MAX_WEIGHT_DATES dates. The last column is the cash that an overlay holds or owes, as `CASH/USD`.
    weights: TableFrame
    #: Number of dates of the whole table.
    weights_dates_total: int
    #: Compositions, by date.
    rebalances: t.Sequence[RebalanceSnapshot]
    #: Total number of rebalances, including rebalances that are not returned.
    rebalances_total: int
    #: Set only if the calendar does not cover the requested range.
    calendar_coverage: t.Optional[CalendarCoveragePayload]


class BookPayload(_BookPayload, total=False):
    #: Market value divided by level, 1 at the start. Absent for a benchmark with only a series of levels.
    divisor: SeriesPayload
    #: Ordinary dividends of each session in points of the price return; absent if dividends are reinvested in the paying security, and in older runs.
    dividend_points: SeriesPayload


_BoundPath = t.TypedDict("_BoundPath", {
    "base": t.Union[float, Date],
    "yearly": float,
})


_BoundPathOptional = t.TypedDict("_BoundPathOptional", {
    "times": float,
    "from": Date,
}, total=False)


class BoundPath(_BoundPath, _BoundPathOptional):
    pass


class BucketTarget(t.TypedDict):
    type: t.Literal["bucket"]
    #: Name of the target, unique among the targets of the client.
    name: str
    #: Tables whose files are sent to the target. `report` is a rendered report. Default: all files that the client can receive.
    tables: t.Optional[t.Sequence[str]]
    #: Bucket and prefix.
    url: str
    #: Region: lower-case letters, digits and single dashes, such as eu-central-1. Default: the region of the service.
    region: t.Optional[str]
    #: Origin of a store outside AWS. Default: the origin of the service; with a region, AWS.
    endpoint: t.Optional[str]
    #: Access key of the client. Default: the keys of the service.
    access_key_id: t.Optional[str]
    #: Secret of the access key.
    secret: t.Optional[str]
    #: Path below the address: folders, and a name with {file} (the name of the file), {client}, {index}, {table}, {schedule} and {date:YYYYMMDD}.
    path: str
    #: True writes a file NAME.sha256 after each file, in the format of sha256sum.
    checksum: bool


class _BucketTargetInput(t.TypedDict):
    type: t.Literal["bucket"]
    #: Name of the target, unique among the targets of the client.
    name: str
    #: Bucket and prefix.
    url: str


class BucketTargetInput(_BucketTargetInput, total=False):
    #: Tables whose files are sent to the target. `report` is a rendered report. Default: all files that the client can receive.
    tables: t.Optional[t.Sequence[str]]
    #: Region: lower-case letters, digits and single dashes, such as eu-central-1. Default: the region of the service.
    region: t.Optional[str]
    #: Origin of a store outside AWS. Default: the origin of the service; with a region, AWS.
    endpoint: t.Optional[str]
    #: Access key of the client. Default: the keys of the service.
    access_key_id: t.Optional[str]
    #: Secret of the access key.
    secret: t.Optional[str]
    #: Path below the address: folders, and a name with {file} (the name of the file), {client}, {index}, {table}, {schedule} and {date:YYYYMMDD}.
    path: str
    #: True writes a file NAME.sha256 after each file, in the format of sha256sum.
    checksum: bool


class _BufferedTopNParams(t.TypedDict):
    #: Number of securities that are kept. Unit: securities.
    count: int


class BufferedTopNParams(_BufferedTopNParams, total=False):
    """Keeps the `count` best securities. Constituents stay while their rank is within a buffer, which reduces turnover."""

    #: Name of a column or derived datapoint, an expression as text or as nodes, or an object with name, window, lag, aggregate and transform.
    field: t.Union[str, DatapointInput, ExpressionNodeInput]
    #: Securities ranked at or above this rank always enter. Default: 80% of count, rounded down. Unit: rank.
    enter_rank: t.Optional[int]
    #: Constituents ranked at or above this rank stay. Default: 120% of count, rounded up. Unit: rank.
    exit_rank: t.Optional[int]
    #: True ranks the smallest values first.
    ascending: bool
    #: Column whose values define groups. The rule is applied to each group separately. Securities without a value form one group.
    group_by: t.Optional[str]
    #: Treatment of a security without a value of the datapoint. In a ranking, an included security without a value is last.
    missing: t.Literal["exclude", "include"]


class _BufferedTopNRule(t.TypedDict):
    #: Id of the rule, unique within the pipeline.
    id: str
    type: t.Literal["BufferedTopN"]


class BufferedTopNRule(_BufferedTopNRule, total=False):
    #: Parameters of the type, by name.
    params: BufferedTopNParams
    #: Parameters that are tried, in order, if the rule keeps too few securities.
    fallback: t.Sequence[RuleFallback]


class _CDaRParams(t.TypedDict):
    #: Largest average drawdown, as a fraction of value. Unit: fraction.
    limit: float


class CDaRParams(_CDaRParams, total=False):
    """The average of the worst historical drawdowns is at most a limit. Drawdowns are computed from summed session returns."""

    #: Confidence: the average is taken over the worst scenarios, which are the fraction 1 - confidence. 0 averages all scenarios. Unit: fraction.
    confidence: float
    #: Number of sessions up to the decision. Their returns are the scenarios. Default: the sessions of the risk model. Unit: sessions.
    scenarios: t.Optional[int]
    #: Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated.
    soft: t.Optional[float]
    #: Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy.
    priority: int


class _CDaRRow(t.TypedDict):
    type: t.Literal["CDaR"]


class CDaRRow(_CDaRRow, total=False):
    #: Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position.
    id: str
    #: Parameters of the type, by name.
    params: CDaRParams


class _CVaRParams(t.TypedDict):
    #: Largest average loss of one session, as a fraction of value. Unit: fraction.
    limit: float


class CVaRParams(_CVaRParams, total=False):
    """The average loss of the worst historical or simulated sessions (expected shortfall) is at most a limit."""

    #: Confidence: the average is taken over the worst scenarios, which are the fraction 1 - confidence. 0 averages all scenarios. Unit: fraction.
    confidence: float
    #: Number of sessions up to the decision. Their returns are the scenarios. Default: the sessions of the risk model. Unit: sessions.
    scenarios: t.Optional[int]
    #: Source of the scenarios: historical returns, blocks of historical returns drawn with replacement, or draws with the covariance of the risk model, from a normal or Student's distribution.
    source: t.Literal["historical", "bootstrap", "normal", "student"]
    #: Number of drawn scenarios; ignored for historical scenarios.
    draws: int
    #: Number of consecutive returns in a block of a bootstrap. Maximum: the number of returns. Unit: sessions.
    block: int
    #: Degrees of freedom of Student's distribution. Fewer degrees of freedom mean heavier tails.
    degrees_of_freedom: int
    #: Seed of the draws. Equal seeds give equal draws.
    seed: int
    #: Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated.
    soft: t.Optional[float]
    #: Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy.
    priority: int


class _CVaRRow(t.TypedDict):
    type: t.Literal["CVaR"]


class CVaRRow(_CVaRRow, total=False):
    #: Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position.
    id: str
    #: Parameters of the type, by name.
    params: CVaRParams


class CalendarClosures(t.TypedDict):
    #: Code of the calendar.
    calendar: str
    #: Name of the exchange.
    name: str
    #: Newest version of the changes; 0 if none were ever recorded.
    version: int
    #: Time of the last write.
    updated_at: t.Optional[str]
    #: Recorded changes by date.
    changes: t.Sequence[SessionChange]


class CalendarClosuresCollection(t.TypedDict):
    #: Calendars by code.
    calendars: t.Sequence[CalendarClosures]


CalendarCoverage = t.TypedDict("CalendarCoverage", {
    "from": str,
    "published_to": str,
    "to": str,
})


class CalendarCoveragePayload(t.TypedDict):
    #: Exchange MIC from /indices/calendars.
    calendar: str
    #: Requested value; the first date of the run if omitted.
    requested_start: str
    #: Requested value; the last date of the run if omitted.
    requested_end: str
    #: First date that the calendar covers.
    covered_start: str
    #: Last date that the calendar covers.
    covered_end: str
    #: True if the calendar begins after the requested start.
    trimmed_start: bool
    #: True if the calendar ends before the requested end.
    trimmed_end: bool


class CalendarList(t.TypedDict):
    #: Every accepted code, sorted by code.
    calendars: t.Sequence[CalendarOption]
    #: Code that a form can preselect. A document must still contain a calendar.
    default: str


class CalendarOption(t.TypedDict):
    #: MIC of the exchange, which is the value of `calendar` in requests.
    code: str
    #: Display name.
    name: str
    #: First part of the IANA time zone.
    region: str
    #: IANA time zone.
    tz: str
    #: Days for which the calendar has sessions.
    coverage: CalendarCoverage
    #: Sources with which the sessions agree, except for the differences that README.md lists.
    sources: t.Sequence[str]


class CallbackTarget(t.TypedDict):
    type: t.Literal["callback"]
    #: Name of the target, unique among the targets of the client.
    name: str
    #: Tables whose files are sent to the target. `report` is a rendered report. Default: all files that the client can receive.
    tables: t.Optional[t.Sequence[str]]
    #: Receiver.
    url: str
    #: Secret that signs the requests, known only to the receiver of this target.
    secret: t.Optional[str]


class _CallbackTargetInput(t.TypedDict):
    type: t.Literal["callback"]
    #: Name of the target, unique among the targets of the client.
    name: str
    #: Receiver.
    url: str


class CallbackTargetInput(_CallbackTargetInput, total=False):
    #: Tables whose files are sent to the target. `report` is a rendered report. Default: all files that the client can receive.
    tables: t.Optional[t.Sequence[str]]
    #: Secret that signs the requests, known only to the receiver of this target.
    secret: t.Optional[str]


class _CapmReturns(t.TypedDict):
    type: t.Literal["capm"]


class CapmReturns(_CapmReturns, total=False):
    """Risk aversion times the covariance with the index. These are the returns in excess of cash for which the index is optimal. Betas can be shrunk towards one."""

    #: Expected return of the index in excess of cash per unit of its variance.
    risk_aversion: float
    #: Weight of 1 in each shrunk beta. Unit: fraction.
    shrinkage: float


class CardinalityParams(t.TypedDict, total=False):
    """The number of securities held, long or short, is between two bounds."""

    #: Minimum number of holdings. Unit: securities.
    minimum: int
    #: Maximum number of holdings. Unit: securities.
    maximum: int
    #: Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated.
    soft: t.Optional[float]
    #: Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy.
    priority: int


class _CardinalityRow(t.TypedDict):
    type: t.Literal["Cardinality"]


class CardinalityRow(_CardinalityRow, total=False):
    #: Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position.
    id: str
    #: Parameters of the type, by name.
    params: CardinalityParams


class CarryDecomposition(t.TypedDict):
    #: spot x (exp(-b tau) - 1).
    borrow: float
    #: Effect of dividends. It is negative, because dividends reduce the forward.
    dividend: float
    #: spot x (exp(r tau) - 1).
    financing: float
    #: Total less the three parts.
    residual: float
    #: Fair value less spot.
    total: float


class _CategoryFilterParams(t.TypedDict):
    #: Column or derived datapoint.
    field: str


class CategoryFilterParams(_CategoryFilterParams, total=False):
    """Keeps securities with a category in one list, and without a category in another list."""

    #: Categories that are kept. Default: all categories that are not excluded.
    include: t.Optional[t.Sequence[str]]
    #: Categories that are removed.
    exclude: t.Optional[t.Sequence[str]]
    #: Treatment of a security without a value of the datapoint. In a ranking, an included security without a value is last.
    missing: t.Literal["exclude", "include"]


class _CategoryFilterRule(t.TypedDict):
    #: Id of the rule, unique within the pipeline.
    id: str
    type: t.Literal["CategoryFilter"]


class CategoryFilterRule(_CategoryFilterRule, total=False):
    #: Parameters of the type, by name.
    params: CategoryFilterParams
    #: Parameters that are tried, in order, if the rule keeps too few securities.
    fallback: t.Sequence[RuleFallback]


class ChangedField(t.TypedDict):
    #: Description of the member of the definition.
    field: str
    #: JSON pointer of the member.
    path: str
    #: Value before the change; null if there was none.
    before: t.Any
    #: Value after the change; null if there is none.
    after: t.Any


class ChangedOverrides(t.TypedDict):
    #: The data store.
    store_id: str
    #: Overrides in force, by date and security.
    overrides: t.Sequence[PriceOverride]
    #: Id of the refresh job that applies the change; null if the next refresh applies it.
    job_id: t.Optional[str]


class ChangelogEntryView(t.TypedDict):
    #: Version number, or Unreleased.
    version: str
    #: YYYY-MM-DD; null for Unreleased.
    date: t.Optional[str]
    #: Sections of the release; empty for an empty Unreleased entry.
    sections: t.Sequence[ChangelogSectionView]


class ChangelogResponse(t.TypedDict):
    #: The running engine version, as /health reports it.
    version: str
    #: Newest first; releases without changes are omitted.
    entries: t.Sequence[ChangelogEntryView]


class ChangelogSectionView(t.TypedDict):
    #: One of the headings of Keep a Changelog.
    heading: t.Literal["Added", "Changed", "Fixed", "Removed", "Deprecated", "Security"]
    #: Changes as Markdown, one per entry.
    items: t.Sequence[str]


class ChartBlock(t.TypedDict):
    kind: t.Literal["chart"]
    #: Title that is printed above the block.
    title: t.Optional[str]
    #: Index (or strategy) whose latest run the block shows.
    index_id: t.Optional[str]
    #: Width of the block. Two consecutive half blocks are placed next to each other.
    width: t.Literal["full", "half"]
    #: Series of the chart. `level`: portfolio, rebased to 100; `index_level`: index that the portfolio follows, rebased to 100; `benchmark`: benchmark, rebased to 100, if the run has one; `drawdown`: level relative to its running maximum, less 1; `rolling_volatility`: annualised volatility of the latest 252 sessions, or fewer for a short run; `headroom`: distance to the nearest bound of a concentration rule, set by `rule` and `fallback_rule`; `sector_weights`: weights of the three sectors with the largest mean weight.
    lines: t.Sequence[t.Literal["level", "index_level", "benchmark", "drawdown", "rolling_volatility", "headroom", "sector_weights"]]
    #: True draws a logarithmic axis for the levels.
    log_scale: bool
    #: Published concentration rule whose headroom is drawn. Default: the rule that triggers rebalances.
    rule: t.Optional[t.Literal["UCITS_5_10_40", "UCITS_20_35", "RIC_25_5_50", "SEC_75_5_10"]]
    #: Rule whose headroom is drawn if `rule` is absent and no rule triggers rebalances of the index. Default: none.
    fallback_rule: t.Optional[t.Literal["UCITS_5_10_40", "UCITS_20_35", "RIC_25_5_50", "SEC_75_5_10"]]
    #: Height of the chart in points, at most the height of the page.
    height: float


class _ChartBlockInput(t.TypedDict):
    kind: t.Literal["chart"]


class ChartBlockInput(_ChartBlockInput, total=False):
    #: Title that is printed above the block.
    title: t.Optional[str]
    #: Index (or strategy) whose latest run the block shows.
    index_id: t.Optional[str]
    #: Width of the block. Two consecutive half blocks are placed next to each other.
    width: t.Literal["full", "half"]
    #: Series of the chart. `level`: portfolio, rebased to 100; `index_level`: index that the portfolio follows, rebased to 100; `benchmark`: benchmark, rebased to 100, if the run has one; `drawdown`: level relative to its running maximum, less 1; `rolling_volatility`: annualised volatility of the latest 252 sessions, or fewer for a short run; `headroom`: distance to the nearest bound of a concentration rule, set by `rule` and `fallback_rule`; `sector_weights`: weights of the three sectors with the largest mean weight.
    lines: t.Sequence[t.Literal["level", "index_level", "benchmark", "drawdown", "rolling_volatility", "headroom", "sector_weights"]]
    #: True draws a logarithmic axis for the levels.
    log_scale: bool
    #: Published concentration rule whose headroom is drawn. Default: the rule that triggers rebalances.
    rule: t.Optional[t.Literal["UCITS_5_10_40", "UCITS_20_35", "RIC_25_5_50", "SEC_75_5_10"]]
    #: Rule whose headroom is drawn if `rule` is absent and no rule triggers rebalances of the index. Default: none.
    fallback_rule: t.Optional[t.Literal["UCITS_5_10_40", "UCITS_20_35", "RIC_25_5_50", "SEC_75_5_10"]]
    #: Height of the chart in points, at most the height of the page.
    height: float


class CheckMeasure(t.TypedDict):
    #: Measured value.
    value: float
    #: Limit of the check.
    limit: float
    #: Unit of the value and the limit.
    unit: t.Literal["fraction", "bp", "sessions", "constituents"]


class ChecksStep(t.TypedDict):
    """Checks the data and the run of each index before its close is published. A finding blocks its index, or is only reported."""

    type: t.Literal["checks"]
    #: Checks with their parameters. Default: all checks that need no parameters; before the step run, only the checks of data.
    checks: t.Optional[t.Sequence[t.Union[CoverageCheck, StalenessCheck, MovesCheck, HistoryCheck, ActionsCheck, ConfirmedActionsCheck, WeightsCheck, DivisorCheck, LimitsCheck, SecondSourceCheck, PublishedCheck]]]


class _ChecksStepInput(t.TypedDict):
    type: t.Literal["checks"]


class ChecksStepInput(_ChecksStepInput, total=False):
    """Checks the data and the run of each index before its close is published. A finding blocks its index, or is only reported."""

    #: Checks with their parameters. Default: all checks that need no parameters; before the step run, only the checks of data.
    checks: t.Optional[t.Sequence[t.Union[CoverageCheckInput, StalenessCheckInput, MovesCheckInput, HistoryCheckInput, ActionsCheckInput, ConfirmedActionsCheckInput, WeightsCheckInput, DivisorCheckInput, LimitsCheckInput, SecondSourceCheckInput, PublishedCheckInput]]]


class Client(t.TypedDict):
    #: Display name.
    name: str
    #: Free text.
    description: t.Optional[str]
    #: True if files are delivered.
    enabled: bool
    #: Files that the client can receive. A file must be covered by one entry. An empty list covers no files.
    entitlements: t.Sequence[Entitlement]
    #: Targets to which files are delivered.
    targets: t.Sequence[t.Union[FolderTarget, BucketTarget, SftpTarget, CallbackTarget, MailTarget]]
    #: The client.
    client_id: str
    #: Time of the last change, ISO-8601 UTC with offset.
    updated_at: str
    #: Names of the targets with a stored secret.
    secrets: t.Sequence[str]
    #: Reasons why the service does not permit targets of the stored client. Such a client is disabled until it is stored again, or until the settings permit its targets.
    problems: t.Sequence[str]


class _ClientBody(t.TypedDict):
    #: Display name.
    name: str
    #: Files that the client can receive. A file must be covered by one entry. An empty list covers no files.
    entitlements: t.Sequence[EntitlementInput]


class ClientBody(_ClientBody, total=False):
    #: Free text.
    description: t.Optional[str]
    #: True if files are delivered.
    enabled: bool
    #: Targets to which files are delivered.
    targets: t.Sequence[t.Union[FolderTargetInput, BucketTargetInput, SftpTargetInput, CallbackTargetInput, MailTargetInput]]


class ClientCollection(t.TypedDict):
    #: Clients by id.
    clients: t.Sequence[ListedClient]
    #: Number of stored documents that are omitted because they cannot be read.
    skipped: int
    #: Number of omitted documents by cause.
    skipped_causes: SkippedCauses


class ClosureEffectIndices(t.TypedDict):
    #: The index, or the strategy of a run.
    index_id: str
    #: Reasons why the latest run becomes stale. Empty if it remains current, or if there is no run.
    stale: t.Sequence[str]
    #: Rebalances and reviews that move or are lost.
    before: t.Sequence[MovedDate]
    #: New dates of these rebalances and reviews.
    after: t.Sequence[MovedDate]
    #: Published closes on lost sessions. They are kept.
    published: t.Sequence[str]
    #: Added sessions before the last published close.
    unpublished: t.Sequence[str]


class ClosureEffectSchedules(t.TypedDict):
    #: The schedule.
    schedule_id: str
    #: Unfinished days on lost sessions. These days end. Days that are done, skipped or missed are not changed.
    ended: t.Sequence[str]
    #: Added sessions in the past without a day. A backfill can perform them.
    missing: t.Sequence[str]


class ClosureEffect(t.TypedDict):
    """Effect of recorded changes."""

    #: Dates that become sessions.
    added: t.Sequence[str]
    #: Sessions that are lost.
    removed: t.Sequence[str]
    #: Sessions whose hours change.
    hours: t.Sequence[str]
    #: Indices on the calendar, and other indices with a run that becomes stale.
    indices: t.Sequence[ClosureEffectIndices]
    #: Schedules on the calendar with such days.
    schedules: t.Sequence[ClosureEffectSchedules]


class _ClosuresBody(t.TypedDict):
    #: Changes, one for each date.
    changes: t.Sequence[SessionChange]


class ClosuresBody(_ClosuresBody, total=False):
    #: True lists the changes without storing them.
    dry_run: bool


class _CombinatorialFolds(t.TypedDict):
    method: t.Literal["combinatorial"]


class CombinatorialFolds(_CombinatorialFolds, total=False):
    """Combinatorial purged cross-validation. Every combination of test groups is a split, and the tests are joined to several complete paths."""

    #: Number of groups of equal length into which time is divided.
    groups: int
    #: Metric by which a variant is selected in sample. The first of equal variants is selected.
    select_by: t.Literal["sharpe_ratio", "annualised_return", "max_drawdown", "volatility"]
    #: Number of sample sessions that are excluded before and after every test, because closes of one day occur at different times.
    purge: int
    #: Number of further sample sessions that are excluded after every test. Null: 1% of all sessions, rounded up.
    embargo: t.Optional[int]
    #: Number of groups in every test. Each combination of them is a split, and all other groups are its sample.
    test_groups: int


class CompareEntry(t.TypedDict):
    #: Version of the index or strategy; null for runs that were stored before versions existed.
    index_version: t.Optional[int]
    #: Data store on which the run was computed; null for runs that were stored without it.
    store_id: t.Optional[str]
    #: Causes why the run is stale; null if the stored run equals a new run of the request.
    stale: t.Optional[StaleState]
    #: Id of the run; null for a benchmark.
    run_id: t.Optional[str]
    #: The index, or the strategy of a run.
    index_id: str
    #: Return variant of the levels; `raw` for unadjusted levels.
    return_variant: t.Literal["price", "total", "net", "raw"]
    #: Currency of the levels.
    currency: str
    #: Level, 100 at the start.
    level: SeriesPayload
    #: Last level divided by the first, less 1. A fraction.
    total_return: float
    #: Common returns per year, by which the figures of the entry are annualised: 252, or 365 if the series has weekend dates, times the share of its sessions that are common. A benchmark has the number of the first run.
    periods_per_year: float
    #: total_return per year of periods_per_year returns; null with one common date.
    annualised_return: t.Optional[float]
    #: Annualised standard deviation of returns. A fraction.
    volatility: float
    #: Mean return x periods_per_year / volatility; 0 without volatility.
    sharpe_ratio: float
    #: Lowest drawdown, at most 0. A fraction.
    max_drawdown: float
    #: Figures relative to the benchmark of the request; null without a benchmark, for the benchmark itself, and with fewer than 3 common dates.
    benchmark_statistics: t.Optional[BenchmarkStatistics]


class CompareStep(t.TypedDict):
    """Compares the level of each index with the level of a second source, a series of the store. A difference blocks the index."""

    type: t.Literal["compare"]
    #: Series by index. Indices that are not listed have no second source.
    second_source: t.Mapping[str, str]
    #: Largest difference, in basis points of the level.
    tolerance_bps: float
    #: Return variant of the series.
    variant: t.Literal["price", "total", "net"]


class _CompareStepInput(t.TypedDict):
    type: t.Literal["compare"]
    #: Series by index. Indices that are not listed have no second source.
    second_source: t.Mapping[str, str]


class CompareStepInput(_CompareStepInput, total=False):
    """Compares the level of each index with the level of a second source, a series of the store. A difference blocks the index."""

    #: Largest difference, in basis points of the level.
    tolerance_bps: float
    #: Return variant of the series.
    variant: t.Literal["price", "total", "net"]


class CompareView(t.TypedDict):
    #: The requested indices.
    index_ids: t.Sequence[str]
    #: Entries, in the order of the request.
    entries: t.Sequence[CompareEntry]
    #: `DIFFERENT_DATA`: the runs used different data. `RETURNS_DIFFER` and `CURRENCIES_DIFFER`: the levels are not comparable. `WINDOW_CUT`: the benchmark lacks common dates of the runs.
    findings: t.Sequence[Finding]
    #: Correlations of the returns, with rows and columns in the order of the entries. Null if a series is constant.
    correlations: t.Sequence[t.Sequence[t.Optional[float]]]
    #: Number of dates used.
    observations: int
    #: First common date.
    start: str
    #: Last common date.
    end: str


class _ComparisonNode(t.TypedDict):
    node: t.Literal["comparison"]
    #: Datapoint or reference column.
    field: ExpressionNode
    #: Comparison of the datapoint with the value.
    comparison: t.Literal["gt", "ge", "lt", "le", "eq", "ne", "in", "between"]
    #: For gt, ge, lt, le: a number or an expression. For eq, ne: a string, number or boolean. For in: a non-empty array. For between: [low, high].
    value: t.Any


class ComparisonNode(_ComparisonNode, total=False):
    #: Canonical text of the tree, at its root; ignored in requests.
    text: str


class _ComparisonNodeInput(t.TypedDict):
    node: t.Literal["comparison"]
    #: Datapoint or reference column.
    field: ExpressionNodeInput
    #: Comparison of the datapoint with the value.
    comparison: t.Literal["gt", "ge", "lt", "le", "eq", "ne", "in", "between"]
    #: For gt, ge, lt, le: a number or an expression. For eq, ne: a string, number or boolean. For in: a non-empty array. For between: [low, high].
    value: t.Any


class ComparisonNodeInput(_ComparisonNodeInput, total=False):
    #: Canonical text of the tree, at its root; ignored in requests.
    text: str


class _CompositeScoreParams(t.TypedDict):
    #: Datapoints of the score.
    terms: t.Sequence[ScoreTerm]


class CompositeScoreParams(_CompositeScoreParams, total=False):
    """Scores securities by a weighted average of winsorised z-scores. It keeps the best scores, the scores above a minimum, or both."""

    #: Number of best scores that are kept. Default: no limit. Unit: securities.
    count: t.Optional[int]
    #: Minimum score; null: no minimum. Unit: z units.
    minimum: t.Optional[float]
    #: Treatment of a security without a value of the datapoint. In a ranking, an included security without a value is last.
    missing: t.Literal["exclude", "include"]


class _CompositeScoreRule(t.TypedDict):
    #: Id of the rule, unique within the pipeline.
    id: str
    type: t.Literal["CompositeScore"]


class CompositeScoreRule(_CompositeScoreRule, total=False):
    #: Parameters of the type, by name.
    params: CompositeScoreParams
    #: Parameters that are tried, in order, if the rule keeps too few securities.
    fallback: t.Sequence[RuleFallback]


class Concentration5_10_40Params(t.TypedDict, total=False):
    """UCITS limits: no security is above `single`, and the securities above `trigger` add up to at most `aggregate`."""

    #: Maximum weight of one security. Unit: fraction.
    single: float
    #: Weight above which a security is included in the aggregate. Unit: fraction.
    trigger: float
    #: Maximum total weight of the securities above the trigger. Unit: fraction.
    aggregate: float
    #: Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated.
    soft: t.Optional[float]
    #: Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy.
    priority: int


class _Concentration5_10_40Row(t.TypedDict):
    type: t.Literal["Concentration5_10_40"]


class Concentration5_10_40Row(_Concentration5_10_40Row, total=False):
    #: Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position.
    id: str
    #: Parameters of the type, by name.
    params: Concentration5_10_40Params


class _ConcentrationPayload(t.TypedDict):
    #: Number of securities with a weight above 0.
    constituents: int
    #: 1 divided by the sum of squared weights: the number of equal weights with the same concentration. Cash raises the number, and leverage lowers it.
    effective_assets: float
    #: Sum of the squared weights.
    herfindahl: float
    #: Largest weight.
    largest: float
    #: Combined weight of the largest 1, 5, 10 and 20 constituents.
    top_weights: t.Mapping[str, float]


class ConcentrationPayload(_ConcentrationPayload, total=False):
    #: Securities with a position, long or short. Absent in overviews of runs of earlier versions.
    gross_constituents: int
    #: Squared sum of the absolute weights, divided by the sum of the squared weights: the number of equal positions with the same concentration, regardless of cash and borrowing. Absent in overviews of runs of earlier versions.
    gross_effective_assets: float
    #: Largest absolute weight, long or short. Absent in overviews of runs of earlier versions.
    gross_largest: float


class ConcentrationRICParams(t.TypedDict, total=False):
    """United States RIC limits: no security is above `single`, and the securities above `trigger` add up to at most `aggregate`."""

    #: Maximum weight of one security. Unit: fraction.
    single: float
    #: Weight above which a security is included in the aggregate. Unit: fraction.
    trigger: float
    #: Maximum total weight of the securities above the trigger. Unit: fraction.
    aggregate: float
    #: Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated.
    soft: t.Optional[float]
    #: Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy.
    priority: int


class _ConcentrationRICRow(t.TypedDict):
    type: t.Literal["ConcentrationRIC"]


class ConcentrationRICRow(_ConcentrationRICRow, total=False):
    #: Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position.
    id: str
    #: Parameters of the type, by name.
    params: ConcentrationRICParams


class ConcentrationSeries(t.TypedDict):
    #: Sum of the squared weights. One value per date.
    herfindahl: t.Sequence[float]
    #: Effective number of securities: 1 / herfindahl; 0 without weights. One value per date.
    effective: t.Sequence[float]
    #: Largest weight. One value per date.
    largest: t.Sequence[float]
    #: Squared sum of the absolute weights, divided by herfindahl: the number of equal positions with the same concentration. One value per date.
    gross_effective: t.Sequence[float]
    #: Largest absolute weight, long or short. One value per date.
    gross_largest: t.Sequence[float]


class ConfirmedActionsCheck(t.TypedDict):
    """A person has confirmed the corporate actions of constituents that take effect on the session."""

    check: t.Literal["confirmed_actions"]
    #: Findings block the index (block), or are only reported (warn). Default: block.
    severity: t.Literal["block", "warn"]


class _ConfirmedActionsCheckInput(t.TypedDict):
    check: t.Literal["confirmed_actions"]


class ConfirmedActionsCheckInput(_ConfirmedActionsCheckInput, total=False):
    """A person has confirmed the corporate actions of constituents that take effect on the session."""

    #: Findings block the index (block), or are only reported (warn). Default: block.
    severity: t.Literal["block", "warn"]


class ConstituentChange(t.TypedDict):
    """Entry of a security into the index, or exit from it."""

    #: Session of the change, at its close.
    date: str
    #: `rebalance` the composition of a rebalance took effect; `replacement` a change between reviews by `events.replacement`: the security replaced `related`, or was replaced by it; `fast_exit` a change between reviews by `events.fast_exit`: the security replaced `related`, or was replaced by it; `fast_entry` a change between reviews by `events.fast_entry`: the security replaced `related`, or was replaced by it; `order` an order of a rebalance was filled after it had waited for a price bar; `merger` a merger into `related`, or an exit at the last close if `related` had no price; `acquisition` an acquisition; `delisting` a delisting; `ticker_change` a change of ticker; `spin_off` the first price of a security spun off from `related`; `spin_off_exit` the first close of a spun-off security, with `spin_offs: "drop_after_first_session"`; `silence` no price bar for `max_stale_sessions` sessions, without a corporate action; `missing_price` no price bar on a session, with `missing_prices: "exclude"`; `total_loss` the value of the index was 0.
    event: t.Literal["rebalance", "replacement", "fast_exit", "fast_entry", "order", "merger", "acquisition", "delisting", "ticker_change", "spin_off", "spin_off_exit", "silence", "missing_price", "total_loss"]
    #: Ex-date of the corporate action; null if there is none.
    ex_date: t.Optional[str]
    #: Security that replaces this security, or from which it originates.
    related: t.Optional[str]
    #: Shares received per share. If the security left, shares of `related`. If the security originates from `related`, shares of the security per share of `related`.
    ratio: t.Optional[float]
    #: Weight in the index; negative for a short position. For an exit, the weight at the price paid, before the trades of the close. For an entry, the weight after the trades.
    weight: float
    #: Price paid per share, in `currency`.
    price: float
    #: Currency of the security.
    currency: str
    #: Day of the latest bar of the security up to the change.
    last_bar: t.Optional[str]
    #: Rebalance of the order if the order waited for a bar; otherwise null.
    ordered_on: t.Optional[str]


class ConstituentRow(t.TypedDict):
    #: Identifier of the security, or `CASH/USD` for the cash of an overlay in that currency (negative if money is borrowed).
    identifier: str
    #: Weight held on as_of.
    weight: float
    #: Weight of the rebalance in force, after capping.
    decided_weight: float
    #: Weight of the rebalance in force, before capping.
    raw_weight: float
    #: True if the cap limits the weight of the security.
    capped: bool
    #: Weight minus the weight in the benchmark.
    active_weight: t.Optional[float]
    #: Contribution to the tracking error. It can be negative.
    active_risk_contribution: t.Optional[float]
    #: Contribution to the annualised volatility; null if the security has no estimate.
    risk_contribution: t.Optional[float]
    #: Held weight less target weight; null on the rebalance date.
    delta_since_rebalance: t.Optional[float]
    #: Shares outstanding on the date in the data of the run (not the shares that the index holds). Null if other data is served, or if there is no value.
    shares_outstanding: t.Optional[float]


class _ConstraintCost(t.TypedDict):
    #: Id of the constraint in the request; empty if it has none.
    id: str
    #: Position of the constraint in the request.
    index: int
    #: Class name.
    type: str
    #: objective_value of the problem without the constraint. If it is null, `reason` states why.
    objective_without: t.Optional[float]
    #: Deterioration of objective_value due to the constraint; 0 if the constraint is not binding.
    cost: t.Optional[float]
    #: Description of the effect, in the measure of the objective.
    sentence: str


class ConstraintCost(_ConstraintCost, total=False):
    #: Reason why objective_without and cost are null: the problem without the constraint has no solution, or the work limit for explanations of tail risk is reached. Otherwise null; absent in runs of earlier versions.
    reason: t.Optional[t.Literal["no_answer", "work_spent"]]


class ConstraintRow(t.TypedDict):
    #: Constraint class; see /optimise/constraint-types.
    type: str
    #: Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position.
    id: str
    #: Parameters of the type, by name.
    params: t.Mapping[str, t.Any]


ConstraintRowBody = t.Union["FullInvestmentRow", "WeightSumRow", "GrossExposureRow", "LongOnlyRow", "PositionBoundsRow", "RelativePositionBoundsRow", "ActiveBoundsRow", "GroupBoundsRow", "ActiveGroupBoundsRow", "TurnoverRow", "TradeSizeRow", "TrackingErrorRow", "VolatilityRow", "CVaRRow", "CDaRRow", "ActiveShareRow", "EffectiveNumberRow", "FactorExposureRow", "WeightedAverageRow", "BetaRow", "ExpectedReturnRow", "LiquidityRow", "LinearConstraintRow", "ExcludeRow", "FreezeRow", "CardinalityRow", "MinimumHoldingRow", "GroupCardinalityRow", "Concentration5_10_40Row", "ConcentrationRICRow"]

class _ConstraintRowInput(t.TypedDict):
    #: Constraint class; see /optimise/constraint-types.
    type: str


class ConstraintRowInput(_ConstraintRowInput, total=False):
    #: Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position.
    id: str
    #: Parameters of the type, by name.
    params: t.Mapping[str, t.Any]


class ConstraintSet(t.TypedDict):
    #: Id of the document, which is part of its path.
    id: str
    #: Display name.
    name: str
    #: Constraints, in order. An empty list leaves the default of full investment.
    constraints: t.Sequence[ConstraintRow]


class _ConstraintSetBody(t.TypedDict):
    #: Id of the document, which is part of its path.
    id: str
    #: Display name.
    name: str


class ConstraintSetBody(_ConstraintSetBody, total=False):
    """A ConstraintSet with the parameters of every constraint class."""

    #: Constraints. Without constraints, weights are long-only and add up to 1.
    constraints: t.Sequence[ConstraintRowBody]


class ConstraintSetCollection(t.TypedDict):
    #: Stored sets by id.
    constraint_sets: t.Sequence[ConstraintSet]
    #: Number of stored documents that are omitted because they cannot be read.
    skipped: int
    #: Number of omitted documents by cause.
    skipped_causes: SkippedCauses


class ConstraintTypes(t.TypedDict):
    #: Parameter names of each constraint class, in form order.
    types: t.Mapping[str, t.Sequence[str]]
    #: Constraint classes with all details.
    specs: t.Sequence[TypeSpec]


class ContributionPayload(t.TypedDict):
    #: Asset identifier.
    asset_id: str
    #: Mean weight at the beginning of the periods.
    average_weight: float
    #: Linked contribution to the total return.
    contribution: float
    #: Last level divided by the first, less 1.
    total_return: float


class CorporateAction(t.TypedDict):
    #: Type of the corporate action.
    type: t.Literal["DIVIDEND", "SPECIAL_DIVIDEND", "RETURN_OF_CAPITAL", "SPLIT", "STOCK_DIVIDEND", "BONUS_ISSUE", "RIGHTS_ISSUE", "SPIN_OFF", "MERGER", "ACQUISITION", "DELISTING", "TICKER_CHANGE"]
    #: Meaning of value: an amount per share, which can be summed; a share-count multiplier, which compounds; or a value that cannot be summed.
    kind: t.Literal["cash", "ratio", "structural"]
    #: As in the store. Dividends and returns of capital: cash per share. Splits, stock dividends and bonus issues: share-count multiplier. Rights issue: new shares per share held. Spin-off or merger: shares of `related` per share held. Acquisition or delisting: price paid per share.
    value: t.Optional[float]
    #: First day without the entitlement.
    ex_date: str
    #: Null: unknown.
    pay_date: t.Optional[str]
    #: Null: unknown.
    status: t.Optional[t.Literal["announced", "paid", "cancelled"]]
    #: Day of the announcement.
    announced: t.Optional[str]
    #: Other identifier of a spin-off, merger or change of ticker.
    related: t.Optional[str]
    #: Price of a new share in a rights issue.
    subscription_price: t.Optional[float]
    #: Cash per share that a merger pays in addition to the shares of `related`; null if it pays none.
    cash: t.Optional[float]
    #: New shares per share held that can be chosen instead of a dividend; null if there is no choice.
    scrip_ratio: t.Optional[float]
    #: Last day of the election; null if unknown.
    election_date: t.Optional[str]
    #: Default of the election; null if unknown.
    election_default: t.Optional[t.Literal["cash", "shares", "take_up", "sell", "sell_to_fund", "lapse"]]


class CorporateActionsResponse(t.TypedDict):
    #: Asset identifier.
    identifier: str
    #: Actions by ex-date, ascending.
    actions: t.Sequence[CorporateAction]
    #: Compounded share-count multiplier of the actions with a ratio in the window that are not cancelled.
    cumulative_split_ratio: float
    #: Date on which the trailing figures end, YYYY-MM-DD.
    as_of: str
    #: Ordinary dividends per share over the twelve calendar months that end on the as-of date, on the share basis of that date.
    trailing_dividend: float
    #: trailing_dividend divided by the close on the as-of date; null without a price.
    trailing_dividend_yield: t.Optional[float]


class CovarianceUncertainty(t.TypedDict):
    """Uncertainty set around the estimated covariances."""

    #: Maximum error of each covariance, as a fraction of the product of the two volatilities.
    radius: float


class CoverageCheck(t.TypedDict):
    """Constituents that are traded on the session have a price. The check measures the weight of the constituents with a price."""

    check: t.Literal["coverage"]
    #: Findings block the index (block), or are only reported (warn). Default: block.
    severity: t.Literal["block", "warn"]
    #: Minimum weight of the constituents with a price.
    minimum: float


class _CoverageCheckInput(t.TypedDict):
    check: t.Literal["coverage"]


class CoverageCheckInput(_CoverageCheckInput, total=False):
    """Constituents that are traded on the session have a price. The check measures the weight of the constituents with a price."""

    #: Findings block the index (block), or are only reported (warn). Default: block.
    severity: t.Literal["block", "warn"]
    #: Minimum weight of the constituents with a price.
    minimum: float


class CoverageHistoryResponse(t.TypedDict):
    #: The data store.
    store_id: str
    #: Dates on which any security has a bar, ascending.
    dates: t.Sequence[str]
    #: Securities with a price on each date.
    priced: t.Sequence[int]
    #: Number of securities with a first price on or before the date and a last price on or after it. If such a security has no price on the date, its exchange was closed or its bar is missing.
    expected: t.Sequence[int]
    #: The 1,000 securities with the most missing prices, sorted by their number.
    gaps: t.Sequence[PriceGaps]
    #: Number of securities with missing prices.
    gaps_total: int
    #: Values of the columns of the market and reference data.
    fields: t.Sequence[FieldCoverage]


class CoverageResponse(t.TypedDict):
    #: Coverage by table.
    datasets: t.Sequence[DatasetCoverage]
    #: Number of distinct identifiers in all datasets.
    identifiers_union: int
    #: Bytes on disk of the whole store; null when no store is served.
    cache_size_bytes: t.Optional[int]


class _CumulativeCoverageParams(t.TypedDict):
    #: Fraction of the total that is covered. The security that crosses it is kept. Unit: fraction.
    coverage: float


class CumulativeCoverageParams(_CumulativeCoverageParams, total=False):
    """Keeps the best securities until they cover a fraction of the total. Constituents stay within a buffer or a band."""

    #: Datapoint whose total is covered.
    field: t.Union[str, DatapointInput, ExpressionNodeInput]
    #: Constituents stay up to the coverage plus this value. Unit: fraction.
    buffer: float
    #: Column whose values define groups. The rule is applied to each group separately. Securities without a value form one group.
    group_by: t.Optional[str]
    #: Datapoint of the ranking. Default: the coverage field.
    rank_field: t.Optional[t.Union[str, DatapointInput, ExpressionNodeInput]]
    #: True ranks the smallest values first.
    ascending: bool
    #: Securities outside the index enter up to this coverage, before constituents are considered. Unit: fraction.
    lower: t.Optional[float]
    #: Constituents stay up to this coverage. The best other securities then fill up to the coverage. Unit: fraction.
    upper: t.Optional[float]
    #: Treatment of a security without a value of the datapoint. In a ranking, an included security without a value is last.
    missing: t.Literal["exclude", "include"]


class _CumulativeCoverageRule(t.TypedDict):
    #: Id of the rule, unique within the pipeline.
    id: str
    type: t.Literal["CumulativeCoverage"]


class CumulativeCoverageRule(_CumulativeCoverageRule, total=False):
    #: Parameters of the type, by name.
    params: CumulativeCoverageParams
    #: Parameters that are tried, in order, if the rule keeps too few securities.
    fallback: t.Sequence[RuleFallback]


class _CurrencyHedgedOverlayRates(t.TypedDict):
    #: Series of the data with the rate of the currency of the overlay, percent per year.
    domestic: str


class CurrencyHedgedOverlayRates(_CurrencyHedgedOverlayRates, total=False):
    #: Series of the data with the rate of the currency of the underlying index, percent per year.
    foreign: str


class _CurrencyHedgedOverlayCurrencies(t.TypedDict):
    #: Currency in which securities are quoted.
    currency: str
    #: Series of the data with the rate of that currency, percent per year.
    rate: str


class CurrencyHedgedOverlayCurrencies(_CurrencyHedgedOverlayCurrencies, total=False):
    #: Hedged fraction of this currency, instead of `ratio`.
    ratio: float


class _CurrencyHedgedOverlay(t.TypedDict):
    type: t.Literal["currency_hedged"]
    #: Currency of the overlay.
    to: str
    #: Fraction that is hedged.
    ratio: float
    #: Interest rates for the prices of forwards.
    rates: CurrencyHedgedOverlayRates
    #: Dates on which the hedged amount is reset to the level.
    adjust: t.Literal["monthly", "daily"]
    #: Number of days per year.
    basis: t.Union[t.Literal[360], t.Literal[365]]


class CurrencyHedgedOverlay(_CurrencyHedgedOverlay, total=False):
    """The index in another currency, hedged with one-month forwards: as a whole, or by the currencies of its securities."""

    #: Hedges each of these currencies by the weight of its securities, instead of the whole index by `rates.foreign`. Other currencies are not hedged.
    currencies: t.Sequence[CurrencyHedgedOverlayCurrencies]


class _CurrencyHedgedOverlayInputRates(t.TypedDict):
    #: Series of the data with the rate of the currency of the overlay, percent per year.
    domestic: str


class CurrencyHedgedOverlayInputRates(_CurrencyHedgedOverlayInputRates, total=False):
    #: Series of the data with the rate of the currency of the underlying index, percent per year.
    foreign: str


class _CurrencyHedgedOverlayInputCurrencies(t.TypedDict):
    #: Currency in which securities are quoted.
    currency: str
    #: Series of the data with the rate of that currency, percent per year.
    rate: str


class CurrencyHedgedOverlayInputCurrencies(_CurrencyHedgedOverlayInputCurrencies, total=False):
    #: Hedged fraction of this currency, instead of `ratio`.
    ratio: float


class _CurrencyHedgedOverlayInput(t.TypedDict):
    type: t.Literal["currency_hedged"]
    #: Currency of the overlay.
    to: str
    #: Interest rates for the prices of forwards.
    rates: CurrencyHedgedOverlayInputRates


class CurrencyHedgedOverlayInput(_CurrencyHedgedOverlayInput, total=False):
    """The index in another currency, hedged with one-month forwards: as a whole, or by the currencies of its securities."""

    #: Fraction that is hedged.
    ratio: float
    #: Hedges each of these currencies by the weight of its securities, instead of the whole index by `rates.foreign`. Other currencies are not hedged.
    currencies: t.Sequence[CurrencyHedgedOverlayInputCurrencies]
    #: Dates on which the hedged amount is reset to the level.
    adjust: t.Literal["monthly", "daily"]
    #: Number of days per year.
    basis: t.Union[t.Literal[360], t.Literal[365]]


class CurrencyOverlay(t.TypedDict):
    """The index in another currency, without a hedge."""

    type: t.Literal["currency"]
    #: Currency of the overlay.
    to: str


class DataAudit(t.TypedDict):
    #: The data store.
    store_id: str
    #: Hash of the content that was checked.
    content_hash: str
    #: Data warnings by date and identifier; at most the 1000 with the highest confidence.
    doubts: t.Sequence[DataDoubt]
    #: Total number, including entries that are not listed.
    total: int
    #: Dates on which only some securities have a bar, latest first, with their counts. Gaps of the whole market (GAP_LONG) follow, each at the date after the gap.
    partial_dates: t.Sequence[Finding]


class DataCell(t.TypedDict):
    #: Dataset of the value.
    table: str
    #: Asset identifier.
    identifier: str
    #: Date of the value; null for a value that is always valid.
    date: t.Optional[str]
    #: Column of the value.
    field: str
    #: Value before the change; null if there was none.
    before: t.Optional[t.Union[str, float, bool]]
    #: Value after the change; null if there is none.
    after: t.Optional[t.Union[str, float, bool]]


class _DataChange(t.TypedDict):
    table: t.Literal["market", "corporate_actions"]
    #: Asset identifier.
    identifier: str
    #: The date.
    date: str
    #: Datapoint or reference column.
    field: str
    #: New value; null removes the bar or the action.
    value: t.Any


class DataChange(_DataChange, total=False):
    #: The value is a whole row that is added.
    added: t.Literal[true]


class DataDifferenceAppended(t.TypedDict):
    #: Number of new sessions.
    sessions: int
    #: Number of bars on these sessions, included in rows_added.
    rows: int
    #: The first new session, YYYY-MM-DD.
    start: str
    #: The last new session, YYYY-MM-DD.
    end: str


DataDifference = t.TypedDict("DataDifference", {
    "from": int,
    "to": int,
    "cells": int,
    "rows_added": int,
    "rows_changed": int,
    "rows_removed": int,
    "appended": t.Optional["DataDifferenceAppended"],
    "changes": t.Sequence["DataCell"],
    "cut": bool,
})


class DataDoubt(t.TypedDict):
    #: Id of the data warning in a request for repairs. It does not change while the data is unchanged.
    id: str
    #: Kind of the object.
    kind: t.Literal["unexplained_jump", "missed_split", "currency_flip", "duplicate_bar", "stale_tail", "volume_without_trade", "exchange_rate", "unknown_currency", "action_terms", "dividend_size", "dividend_duplicate", "dividend_not_adjusted"]
    #: Asset identifier.
    identifier: str
    #: The date.
    date: str
    #: Confidence of the data warning, 0 to 1.
    confidence: float
    #: Message in one sentence.
    message: str
    #: Figures on which the data warning is based.
    evidence: t.Mapping[str, t.Union[float, str]]
    #: Repair; null if the data does not show the correct value.
    repair: t.Optional[DataRepair]


_DataRepairScale = t.TypedDict("_DataRepairScale", {
    "kind": t.Literal["scale"],
    "identifier": str,
    "from": str,
    "to": str,
    "columns": t.Sequence[str],
    "factor": float,
})


_DataRepairScaleOptional = t.TypedDict("_DataRepairScaleOptional", {
    "inverse_columns": t.Sequence[str],
}, total=False)


class DataRepairScale(_DataRepairScale, _DataRepairScaleOptional):
    pass


DataRepairRemoveValues = t.TypedDict("DataRepairRemoveValues", {
    "kind": t.Literal["remove_values"],
    "identifier": str,
    "from": str,
    "to": str,
    "columns": t.Sequence[str],
})


class DataRepairInsertActionAction(t.TypedDict):
    #: Asset identifier.
    identifier: str
    #: Type of the corporate action.
    type: str
    #: The value.
    value: float
    #: First day without the entitlement.
    ex_date: str


class DataRepairInsertAction(t.TypedDict):
    kind: t.Literal["insert_action"]
    #: The corporate action.
    action: DataRepairInsertActionAction


class DataRepairReplaceActionAction(t.TypedDict):
    #: Asset identifier.
    identifier: str
    #: Type of the corporate action.
    type: str
    #: The value.
    value: float
    #: First day without the entitlement.
    ex_date: str


class _DataRepairReplaceAction(t.TypedDict):
    kind: t.Literal["replace_action"]
    #: The corporate action.
    action: DataRepairReplaceActionAction
    #: The value.
    value: float


class DataRepairReplaceAction(_DataRepairReplaceAction, total=False):
    #: New day; absent if the day does not change.
    ex_date: str


class DataRepairRemoveActionAction(t.TypedDict):
    #: Asset identifier.
    identifier: str
    #: Type of the corporate action.
    type: str
    #: The value.
    value: float
    #: First day without the entitlement.
    ex_date: str


class DataRepairRemoveAction(t.TypedDict):
    kind: t.Literal["remove_action"]
    #: The corporate action.
    action: DataRepairRemoveActionAction


#: Change of the data that resolves a data warning. Days are inclusive.
DataRepair = t.Union["DataRepairScale", "DataRepairRemoveValues", "DataRepairInsertAction", "DataRepairReplaceAction", "DataRepairRemoveAction"]

class DataSourceStatus(t.TypedDict):
    #: True if a data source is attached.
    configured: bool
    #: Number of distinct identifiers of the market dataset.
    identifiers: int


class DataStoreTakenAtStart(t.TypedDict):
    #: Number of new dates.
    dates_added: int
    #: Number of bars; 0 if the previous data is lost and the history has changed.
    rows_added: int
    #: Number of new securities.
    identifiers_added: int
    #: HISTORY_CHANGED, SPLIT_RESTATED, LATE_BARS or DATES_ADDED.
    findings: t.Sequence[Finding]


class DataStoreFiles(t.TypedDict):
    #: Name of the file.
    label: str
    #: Size in bytes.
    bytes: int
    #: SHA-256 of its bytes.
    sha256: str


class _DataStore(t.TypedDict):
    #: The data store.
    store_id: str
    #: Display name.
    name: str
    #: Source of the data.
    kind: t.Literal["folder", "database", "imported", "synthetic"]
    #: True if the service created the folder. The folder is then deleted with the store.
    managed: bool
    #: True for the served store; at most one store is served.
    active: bool
    #: `writing`: the store is being generated and cannot be read yet.
    status: t.Literal["writing", "ready", "loading", "refreshing", "error"]
    #: Folder, or database URL with the password replaced by ***.
    location: t.Optional[str]
    #: Source of a refresh.
    source: t.Optional[str]
    #: False if a refresh is refused with NOTHING_TO_REFRESH.
    refreshable: bool
    #: Price basis of CLOSE: as traded, divided by later splits, or by splits and dividends.
    adjustment: t.Literal["none", "splits", "total"]
    #: Currency of securities without a CURRENCY: an ISO 4217 code, or a minor unit such as GBX (pence). Null if the store has no default currency.
    currency: t.Optional[str]
    #: Mapping of the market; null if the tables need no mapping.
    mapping: t.Optional[Mapping]
    #: Number of actions that were derived from adjusted closes at the last load; null without adjusted closes.
    derived_actions: t.Optional[DerivedActions]
    #: Number of versions of the data that are kept, including the last version; null keeps all. If a stored run or a published close refers to a version, this version and all later versions are kept.
    versions_kept: t.Optional[int]
    #: Time of creation, ISO-8601 UTC with offset.
    created_at: str
    #: Time of the last load.
    last_loaded_at: t.Optional[str]
    #: Time of the last refresh.
    last_refreshed_at: t.Optional[str]
    #: Number of distinct identifiers of the market dataset; null before the first load.
    identifiers: t.Optional[int]
    #: First date of the market.
    start: t.Optional[str]
    #: Last date of the market.
    end: t.Optional[str]
    #: Size of the files in bytes; null before the first load and for a database server.
    size_bytes: t.Optional[int]
    #: SHA-256 of the canonical content. It changes if and only if a value changes, regardless of the files.
    content_hash: t.Optional[str]
    #: Number of rows per dataset at the last load: rows that were read, and actions that were derived from adjusted closes.
    rows: t.Optional[t.Mapping[str, int]]
    #: Changes of the source that were accepted at a start. The next refresh reports them; afterwards null.
    taken_at_start: t.Optional[DataStoreTakenAtStart]
    #: Reason for the status error.
    error: t.Optional[ErrorDetail]


class DataStore(_DataStore, total=False):
    #: Every file of the last load with its SHA-256. Omitted in lists.
    files: t.Sequence[DataStoreFiles]
    #: Data warnings of the last load, at most 201. Omitted in lists.
    findings: t.Sequence[Finding]


class DataStoreCollection(t.TypedDict):
    #: Stores by id.
    stores: t.Sequence[DataStore]
    #: Id of the served data store.
    active: t.Optional[str]
    #: Number of stored documents that are omitted because they cannot be read.
    skipped: int
    #: Number of omitted documents by cause.
    skipped_causes: SkippedCauses


class _DataStoreCreate(t.TypedDict):
    #: Display name.
    name: str
    #: Kind of the object.
    kind: t.Literal["folder", "database"]
    #: Absolute path of a folder, or a connection URL: sqlite:///path, duckdb:///path, postgresql://user:password@host:port/database. The operator must allow the location.
    location: str


class DataStoreCreate(_DataStoreCreate, total=False):
    #: Id of the store. Default: the name in lower case, with dashes for other characters.
    store_id: str
    #: File or table of a dataset, if its name differs from the name of the dataset.
    tables: t.Mapping[str, str]
    #: Price basis of CLOSE: as traded, divided by later splits, or by splits and dividends.
    adjustment: t.Literal["none", "splits", "total"]
    #: Currency of securities without a CURRENCY: an ISO 4217 code, or a minor unit such as GBX (pence). Null if the store has no default currency.
    currency: t.Optional[str]
    #: Mapping of the market, if its tables have another format. POST /data/inspect proposes a mapping.
    mapping: t.Optional[MappingInput]
    #: True serves the store immediately.
    activate: bool


class DataStoreUpdate(t.TypedDict, total=False):
    #: Display name.
    name: str
    #: Source of a refresh.
    source: t.Optional[str]
    #: Price basis of CLOSE: as traded, divided by later splits, or by splits and dividends.
    adjustment: t.Literal["none", "splits", "total"]
    #: Currency of securities without a CURRENCY: an ISO 4217 code, or a minor unit such as GBX (pence). Null if the store has no default currency.
    currency: t.Optional[str]
    #: Members of the mapping that change. Null removes the mapping. The change applies the next time the source is read.
    mapping: t.Optional[MappingChange]
    #: Number of versions of the data that are kept, including the last version; null keeps all. If a stored run or a published close refers to a version, this version and all later versions are kept.
    versions_kept: t.Optional[int]


class DataVersion(t.TypedDict):
    #: Number of the version, from 1 without gaps.
    version: int
    #: SHA-256 of the content.
    content_hash: str
    #: Time from which the version was served, ISO-8601 UTC with offset.
    known_at: str
    #: Origin of the version. `reload`: the source had changed when it was read at a start or an activation.
    source: t.Literal["import", "append", "replace", "refresh", "reload", "repair", "synthetic"]
    #: Number of new rows.
    rows_added: int
    #: Number of changed rows.
    rows_changed: int
    #: Number of removed rows.
    rows_removed: int
    #: Name of the key of the request; `local` without keys, and for changes found at a start.
    author: str
    #: X-Change-Note of the request; null if there is none.
    note: t.Optional[str]
    #: Id of the request; empty if the service acted without a request.
    request_id: str
    #: True if the version can be used with `as_known_on`.
    readable: bool


class DataVersions(t.TypedDict):
    #: Newest first.
    versions: t.Sequence[DataVersion]
    #: Number of stored versions, listed or not.
    total: int
    #: Number of stored documents that are omitted because they cannot be read.
    skipped: int
    #: Number of omitted documents by cause.
    skipped_causes: SkippedCauses
    #: Copy of the latest data of a folder or a database, which is used after its source has changed. `pending`: the copy is written after the response that served the data. `missing`: the data exceeds `MAX_COPIED_CONTENT_BYTES`, the disk had too little space, or the copy was interrupted. If a missing copy can be written, it is written when the store is next read. Null if the files of the service are the copy.
    copy: t.Optional[t.Literal["made", "pending", "missing"]]


class Datapoint(t.TypedDict):
    """Datapoint with window, lag, aggregate and transform. It is read for every security on or before the decision date."""

    #: Name of a column or derived datapoint, in exact spelling.
    name: str
    #: Table of the datapoint. Null uses the first of market, reference and derived that has the datapoint.
    dataset: t.Optional[t.Literal["market", "reference", "derived"]]
    #: Number of sessions before the decision date.
    lag: int
    #: Number of trailing sessions. Sessions without a price bar are skipped. Required if the aggregate is not last.
    window: t.Optional[int]
    #: Aggregation of a window to one value.
    aggregate: t.Literal["last", "mean", "median", "sum", "min", "max", "std", "count"]
    #: Transform across the remaining securities with a value.
    transform: t.Literal["none", "rank", "percentile", "zscore"]


class DatapointEvaluationValues(t.TypedDict):
    #: Asset identifier.
    identifier: str
    #: Value; null if it is missing.
    value: t.Optional[t.Union[float, str, bool]]


class DatapointEvaluation(t.TypedDict):
    """Analysis of an expression, for an editor."""

    #: True if no finding is an error.
    valid: bool
    #: Canonical text; null if the expression cannot be parsed.
    text: t.Optional[str]
    #: Canonical tree: an ExpressionNode.
    tree: t.Optional[t.Mapping[str, t.Any]]
    #: Unit of the values, such as `money` or `number`; null for an unknown unit and for a condition.
    unit: t.Optional[str]
    #: Session of the values; null without values.
    as_of: t.Optional[str]
    #: Values of the requested securities, or of the first securities with a value.
    values: t.Sequence[DatapointEvaluationValues]
    #: Findings, most severe first.
    findings: t.Sequence[Finding]


class _DatapointInput(t.TypedDict):
    #: Name of a column or derived datapoint, in exact spelling.
    name: str


class DatapointInput(_DatapointInput, total=False):
    """Datapoint with window, lag, aggregate and transform. It is read for every security on or before the decision date."""

    #: Table of the datapoint. Null uses the first of market, reference and derived that has the datapoint.
    dataset: t.Optional[t.Literal["market", "reference", "derived"]]
    #: Number of sessions before the decision date.
    lag: int
    #: Number of trailing sessions. Sessions without a price bar are skipped. Required if the aggregate is not last.
    window: t.Optional[int]
    #: Aggregation of a window to one value.
    aggregate: t.Literal["last", "mean", "median", "sum", "min", "max", "std", "count"]
    #: Transform across the remaining securities with a value.
    transform: t.Literal["none", "rank", "percentile", "zscore"]


class DatapointRequestPluginsCodeDatapointInputs(t.TypedDict):
    #: Display name.
    name: str
    #: Expression that computes the values.
    expression: ExpressionNodeInput
    #: Number of trailing sessions. Each session has one value for each security.
    sessions: int


class DatapointRequestPluginsCodeDatapoint(t.TypedDict):
    #: Kind of the object.
    kind: t.Literal["datapoint", "selection", "weighting"]
    #: SHA-256 of the stored plug-in.
    sha256: str
    #: Inputs, in the order of the program.
    inputs: t.Sequence[DatapointRequestPluginsCodeDatapointInputs]
    #: Parameters, with defaults for omitted parameters.
    parameters: t.Mapping[str, t.Union[float, str, bool]]
    #: Source code of the plug-in.
    source: str


class _DatapointRequestPlugins(t.TypedDict):
    #: Id of the stored plug-in. Its version when the index is computed is used.
    plugin: str


class DatapointRequestPlugins(_DatapointRequestPlugins, total=False):
    #: Values of parameters. Omitted parameters have their defaults.
    parameters: t.Mapping[str, t.Union[float, str, bool]]
    #: Plug-in with which a run was computed; only in the documents of runs. Ignored in requests.
    code: DatapointRequestPluginsCodeDatapoint


class _DatapointRequest(t.TypedDict):
    #: Expression, as text or as nodes.
    expression: t.Union[str, t.Mapping[str, t.Any]]


class DatapointRequest(_DatapointRequest, total=False):
    #: ExpressionFilter, and the first operand of `if`, accept a condition.
    expects: t.Literal["number", "condition"]
    #: Expressions to which the expression refers, as in an index document.
    datapoints: t.Mapping[str, t.Union[str, t.Mapping[str, t.Any]]]
    #: Plug-ins to which the expression refers, as in an index document.
    plugins: t.Mapping[str, DatapointRequestPlugins]
    #: Universe, as in an index document. Default: all securities.
    universe: UniverseSpecInput
    #: Exchange calendar. Default: the preselected calendar.
    calendar: str
    #: Currency of amounts of money.
    currency: str
    #: Decision date. Default: the latest date of the store.
    as_of: t.Optional[Date]
    #: Securities whose values are returned. Default: the first securities with a value.
    identifiers: t.Sequence[str]


class DatasetCoverage(t.TypedDict):
    #: Name of the table.
    dataset: t.Literal["market", "reference"]
    #: True if the dataset is loaded.
    configured: bool
    #: Distinct identifiers.
    identifiers: int
    #: Earliest date of the data.
    start: t.Optional[str]
    #: Latest date of the data.
    end: t.Optional[str]
    #: Number of data columns, excluding the keys.
    field_count: int
    #: Update frequency of the dataset, which determines when it is stale.
    frequency: t.Literal["daily", "static", "event"]
    #: Age beyond which the dataset is stale; null if not applicable.
    stale_after_seconds: t.Optional[float]
    #: Seconds since the last load.
    cache_age: t.Optional[float]
    #: Time of the last load.
    last_refreshed: t.Optional[str]
    #: Bytes on disk.
    cache_size_bytes: t.Optional[int]
    #: Source of the data: local, database, imported or synthetic.
    source: t.Optional[str]


class _DateRule(t.TypedDict):
    #: Date rule: a number of sessions before the effective date; the last session, a weekday or a day of the month of the effective date or an earlier month; or the last such weekday at least some weeks before. A day that is not a session moves to the previous session.
    rule: t.Literal["sessions_before", "last_session", "nth_weekday", "day_of_month", "weekday_before"]


class DateRule(_DateRule, total=False):
    #: Number of sessions before the effective date.
    sessions: int
    #: Number of months before the month of the effective date. Default: 1 for last_session, otherwise 0.
    months_before: int
    #: Number of the weekday in the month, from 1. 5 is the last one.
    nth: int
    #: Weekday: 0 is Monday, 4 is Friday.
    weekday: int
    #: Day of the month. In a shorter month, the last day is used.
    day: int
    #: Minimum number of weeks before the effective date.
    weeks: int


class _DayBackfill(t.TypedDict):
    #: First session.
    start: Date
    #: Last session.
    end: Date


class DayBackfill(_DayBackfill, total=False):
    #: Reason, which the register of decisions records.
    reason: t.Optional[str]


class DayRun(t.TypedDict, total=False):
    #: Steps whose results are discarded first. Their files are written again.
    again: t.Sequence[t.Literal["refresh", "checks", "run", "compare", "publish", "export", "render", "deliver"]]
    #: Reason, which the register of decisions records.
    reason: t.Optional[str]


class DaySkip(t.TypedDict):
    #: Reason, which the register of decisions records.
    reason: str


class _DayWaiver(t.TypedDict):
    #: Check whose findings are accepted.
    check: t.Literal["coverage", "staleness", "moves", "history", "actions", "confirmed_actions", "weights", "divisor", "limits", "second_source", "published"]
    #: Reason, which the register of decisions records.
    reason: str


class DayWaiver(_DayWaiver, total=False):
    #: Index of the waiver, which also covers the indices that depend on it. Default: every index of the schedule.
    index_id: t.Optional[str]
    #: Security or series of the finding. Default: every finding of the check.
    identifier: t.Optional[str]


class DaysToTrade(t.TypedDict):
    """Distribution over the traded securities of all accounts; quantiles of type 7."""

    #: Median.
    p50: t.Optional[float]
    #: 90th percentile over the securities.
    p90: t.Optional[float]
    #: Maximum over the securities.
    max: t.Optional[float]


class DecidedError2(t.TypedDict):
    #: The index, or the strategy of a run.
    index_id: str
    #: Time of the decision, ISO-8601 UTC with offset.
    at: str
    #: Name of the key; for a schedule, its author.
    author: str
    #: `restated`: closes were published again. `announced` and `left`: published closes did not change.
    decision: t.Literal["restated", "announced", "left"]
    #: Policy of the decision; null for a decision of a person.
    policy: t.Optional[ErrorPolicy]
    #: First date with a difference.
    first: str
    #: Last date that differs.
    last: str
    #: Number of dates with a difference.
    dates: int
    #: First date with a material difference. Null if there is none, and for a decision without a policy.
    material_from: t.Optional[str]
    #: Closes that were published again.
    restated: int
    #: Largest change of a level; null if only divisor or composition differ.
    largest: t.Optional[LevelChange]
    #: Run with the difference.
    run_id: str
    #: Reason for the decision.
    reason: str
    #: Notice for clients.
    notice: str
    #: SHA-256 of the differences. Equal differences are registered once.
    digest: str


#: Difference from published closes, with the decision; null if there is none.
DecidedError = t.Optional["DecidedError2"]

class DecrementOverlay(t.TypedDict):
    """The index less a synthetic dividend per year, in percent or in points, which is subtracted every day."""

    type: t.Literal["decrement"]
    #: Percent per year: 5 is 5%.
    percent: t.Optional[float]
    #: Index points per year, instead of percent.
    points: t.Optional[float]
    #: Number of days per year.
    basis: t.Union[t.Literal[360], t.Literal[365]]
    #: Method of subtracting percent.
    method: t.Literal["geometric", "arithmetic"]


class _DecrementOverlayInput(t.TypedDict):
    type: t.Literal["decrement"]


class DecrementOverlayInput(_DecrementOverlayInput, total=False):
    """The index less a synthetic dividend per year, in percent or in points, which is subtracted every day."""

    #: Percent per year: 5 is 5%.
    percent: t.Optional[float]
    #: Index points per year, instead of percent.
    points: t.Optional[float]
    #: Number of days per year.
    basis: t.Union[t.Literal[360], t.Literal[365]]
    #: Method of subtracting percent.
    method: t.Literal["geometric", "arithmetic"]


class DefinitionChange(t.TypedDict):
    #: Date from which the change applies, if it is an amendment; null for a change of the whole history.
    effective_from: t.Optional[str]
    #: Date of the announcement; null if there is none.
    announced: t.Optional[str]
    #: Reason of an amendment; null if there is none.
    reason: t.Optional[str]
    #: True if the index is rebalanced on the date.
    rebalance: bool
    #: Changed members; at most 200.
    fields: t.Sequence[ChangedField]
    #: Sentences of the methodology that no longer apply.
    removed: t.Sequence[str]
    #: New sentences of the methodology.
    added: t.Sequence[str]


class DefinitionFields(t.TypedDict):
    """Fields of a definition that do not belong to a class."""

    #: Fields of the document itself.
    index: t.Sequence[ParameterSpec]
    #: Of `universe`.
    universe: t.Sequence[ParameterSpec]
    #: Of `rebalance`.
    rebalance: t.Sequence[ParameterSpec]
    #: Fields of the list `reviews` of the document.
    reviews: t.Sequence[ParameterSpec]
    #: Of `pipeline.treatment`.
    treatment: t.Sequence[ParameterSpec]
    #: Fields of `pipeline.weighting` in addition to the parameters of its class.
    weighting: t.Sequence[ParameterSpec]
    #: Fields of `derivation` in addition to its objective and constraint rows.
    derivation: t.Sequence[ParameterSpec]
    #: Fields of `events`, the changes between reviews.
    events: t.Sequence[ParameterSpec]


class DeletedIndex(t.TypedDict):
    #: Deleted index.
    index_id: str
    #: True if a stored record was deleted too.
    backtest_record_deleted: bool
    #: Number of deleted job records and stored results.
    backtest_results_deleted: int
    #: Parent of a derived index; null for the index of the request.
    derived_from: t.Optional[str]


class DeliverStep(t.TypedDict):
    """Delivers the files of earlier steps to the targets of clients, according to their entitlements. A failed delivery does not block other steps."""

    type: t.Literal["deliver"]
    #: Clients. Default: every client that is entitled to a file.
    clients: t.Optional[t.Sequence[str]]


class _DeliverStepInput(t.TypedDict):
    type: t.Literal["deliver"]


class DeliverStepInput(_DeliverStepInput, total=False):
    """Delivers the files of earlier steps to the targets of clients, according to their entitlements. A failed delivery does not block other steps."""

    #: Clients. Default: every client that is entitled to a file.
    clients: t.Optional[t.Sequence[str]]


class DeliveredFile(t.TypedDict):
    #: Name of the target.
    target: str
    #: Path or name at the target.
    path: str
    #: Name of the file of the day.
    file: str
    #: The index, or the strategy of a run.
    index_id: str
    #: Table of the file; `report` for a rendered report.
    table: str
    #: Size in bytes.
    bytes: int
    #: SHA-256 of its bytes.
    sha256: str
    #: Result so far.
    state: t.Literal["waiting", "sending", "delivered", "failed"]
    #: Number of attempts to deliver the file.
    attempts: int
    #: Number of attempts of the day in which the delivery was attempted.
    rounds: int
    #: Time of the delivery.
    delivered_at: t.Optional[str]
    #: Error code of the last failure.
    code: t.Optional[str]
    #: Description of the result in a sentence.
    message: str


class Deliveries(t.TypedDict):
    #: Days, newest first.
    deliveries: t.Sequence[DeliveryRecord]


class DeliveryLine(t.TypedDict):
    #: Time of the line.
    at: str
    #: Name of the target.
    target: str
    #: File of the line; null for the whole target.
    path: t.Optional[str]
    #: Message in one sentence.
    message: str


class DeliveryRecord(t.TypedDict):
    #: The client.
    client_id: str
    #: The schedule.
    schedule_id: str
    #: Session.
    date: str
    #: Version of the client that determines its entitlements.
    version: t.Optional[int]
    #: Files by target.
    files: t.Sequence[DeliveredFile]
    #: Attempts and results, the last 500 lines.
    log: t.Sequence[DeliveryLine]


class DerivationPayloadObjective(t.TypedDict):
    #: Class name.
    type: str


class DerivationPayloadExpectedReturns(t.TypedDict):
    #: Class name.
    type: str


class _DerivationPayload(t.TypedDict):
    #: Parent of the derived index; it cannot be changed.
    source_index_id: str
    #: Objective: an object with a type of `/optimise/objective-types` and its parameters, or only the type. A derived index accepts only the type `min_tracking_error` without an object.
    objective: t.Union[str, DerivationPayloadObjective]
    #: Constraints. Without constraints, weights are long-only and add up to 1.
    constraints: t.Sequence[ConstraintRow]


class DerivationPayload(_DerivationPayload, total=False):
    #: Expected returns of the objective: a model of `/optimise/objective-types` with its parameters.
    expected_returns: t.Optional[DerivationPayloadExpectedReturns]
    #: Uncertainty sets of expected returns and covariances; the objective is optimised for the worst case.
    uncertainty: t.Optional[Uncertainty]
    #: Trading costs, linear and market impact. In a result, their sum as a fraction of value.
    costs: t.Optional[TradeCosts]
    #: Covariance for the objective, the constraints and the results: the id of a stored model, or an estimator. Null: the default estimator.
    risk_model: t.Optional[t.Union[str, RiskEstimator]]
    #: Securities that can be held: the securities of the index (default), or every security of its universe with a price. Securities outside the index have an index weight of 0.
    candidates: t.Literal["parent", "universe"]
    #: Constraints that are relaxed step by step, in this order, at rebalances with an infeasible problem. Constraints with a priority are relaxed afterwards.
    relax: t.Sequence[RelaxEntry]


class DerivationPayloadInputObjective(t.TypedDict):
    #: Class name.
    type: str


class DerivationPayloadInputExpectedReturns(t.TypedDict):
    #: Class name.
    type: str


class _DerivationPayloadInput(t.TypedDict):
    #: Parent of the derived index; it cannot be changed.
    source_index_id: str


class DerivationPayloadInput(_DerivationPayloadInput, total=False):
    #: Objective: an object with a type of `/optimise/objective-types` and its parameters, or only the type. A derived index accepts only the type `min_tracking_error` without an object.
    objective: t.Union[str, DerivationPayloadInputObjective]
    #: Expected returns of the objective: a model of `/optimise/objective-types` with its parameters.
    expected_returns: t.Optional[DerivationPayloadInputExpectedReturns]
    #: Uncertainty sets of expected returns and covariances; the objective is optimised for the worst case.
    uncertainty: t.Optional[UncertaintyInput]
    #: Trading costs, linear and market impact. In a result, their sum as a fraction of value.
    costs: t.Optional[TradeCostsInput]
    #: Covariance for the objective, the constraints and the results: the id of a stored model, or an estimator. Null: the default estimator.
    risk_model: t.Optional[t.Union[str, RiskEstimatorInput]]
    #: Securities that can be held: the securities of the index (default), or every security of its universe with a price. Securities outside the index have an index weight of 0.
    candidates: t.Literal["parent", "universe"]
    #: Constraints. Without constraints, weights are long-only and add up to 1.
    constraints: t.Sequence[ConstraintRowInput]
    #: Constraints that are relaxed step by step, in this order, at rebalances with an infeasible problem. Constraints with a priority are relaxed afterwards.
    relax: t.Sequence[RelaxEntry]


class DerivedActions(t.TypedDict):
    """Corporate actions that were derived from adjusted closes."""

    #: Number of derived dividends.
    dividends: int
    #: Number of derived splits.
    splits: int


class DerivedSource(t.TypedDict):
    """Explanation of the weight in the parent, at the rebalance that was optimised, and of the optimisation."""

    #: Parent of the derived index; it cannot be changed.
    source_index_id: str
    #: Objective: an object with a type of `/optimise/objective-types` and its parameters, or only the type. A derived index accepts only the type `min_tracking_error` without an object.
    objective: str
    #: Weight in the parent, from which the optimisation starts; null if the security is not a candidate.
    source_weight: t.Optional[float]
    #: Explanation of the weight in the parent, on the effective date of the composition that was optimised.
    source: IndexExplanation
    #: Explanation of the weight in the solution; null if the security is not a candidate.
    solve: t.Optional[NameSolve]
    #: Warnings of the optimisation.
    findings: t.Sequence[Finding]


class DeskAction(t.TypedDict):
    """A corporate action with the decisions about it."""

    #: Asset identifier.
    identifier: str
    #: Type of the action.
    type: t.Literal["DIVIDEND", "SPECIAL_DIVIDEND", "RETURN_OF_CAPITAL", "SPLIT", "STOCK_DIVIDEND", "BONUS_ISSUE", "RIGHTS_ISSUE", "SPIN_OFF", "MERGER", "ACQUISITION", "DELISTING", "TICKER_CHANGE"]
    #: First day without the entitlement.
    ex_date: str
    #: Value as in the store: an amount per share, a multiplier or a ratio, depending on the type.
    value: float
    #: Null: unknown.
    pay_date: t.Optional[str]
    #: Other identifier of a spin-off, merger or ticker change.
    related: t.Optional[str]
    #: Price of a new share in a rights issue.
    subscription_price: t.Optional[float]
    #: Cash that a merger pays per share in addition to shares.
    cash: t.Optional[float]
    #: Id of the action, derived from its store, security, type, ex-date and related security.
    action_id: str
    #: Null: unknown.
    status: t.Optional[t.Literal["announced", "paid", "cancelled"]]
    #: Day of the announcement.
    announced: t.Optional[str]
    #: `new`: no decision yet. `amended`: the terms in the store have changed since they were confirmed or rejected.
    state: t.Literal["new", "confirmed", "rejected", "amended"]
    #: Reasons to review the action, and differences from other sources.
    flags: t.Sequence[str]
    #: Decisions of people, earliest first.
    decisions: t.Sequence[ActionDecision]


class DeskActionDetail(t.TypedDict):
    #: Asset identifier.
    identifier: str
    #: Type of the action.
    type: t.Literal["DIVIDEND", "SPECIAL_DIVIDEND", "RETURN_OF_CAPITAL", "SPLIT", "STOCK_DIVIDEND", "BONUS_ISSUE", "RIGHTS_ISSUE", "SPIN_OFF", "MERGER", "ACQUISITION", "DELISTING", "TICKER_CHANGE"]
    #: First day without the entitlement.
    ex_date: str
    #: Value as in the store: an amount per share, a multiplier or a ratio, depending on the type.
    value: float
    #: Null: unknown.
    pay_date: t.Optional[str]
    #: Other identifier of a spin-off, merger or ticker change.
    related: t.Optional[str]
    #: Price of a new share in a rights issue.
    subscription_price: t.Optional[float]
    #: Cash that a merger pays per share in addition to shares.
    cash: t.Optional[float]
    #: Id of the action, derived from its store, security, type, ex-date and related security.
    action_id: str
    #: Null: unknown.
    status: t.Optional[t.Literal["announced", "paid", "cancelled"]]
    #: Day of the announcement.
    announced: t.Optional[str]
    #: `new`: no decision yet. `amended`: the terms in the store have changed since they were confirmed or rejected.
    state: t.Literal["new", "confirmed", "rejected", "amended"]
    #: Reasons to review the action, and differences from other sources.
    flags: t.Sequence[str]
    #: Decisions of people, earliest first.
    decisions: t.Sequence[ActionDecision]
    #: Effect on each index with a run that holds the security.
    effects: t.Sequence[DeskActionEffect]


class _DeskActionEffect(t.TypedDict):
    #: The index, or the strategy of a run.
    index_id: str
    #: `coming`: the action is after the last date of the run, and the figures are pro forma.
    state: t.Literal["effective", "coming"]
    #: Weight at the previous close.
    weight_before: t.Optional[float]
    #: Weight after the action.
    weight_after: t.Optional[float]
    #: Index shares before the action.
    shares_before: t.Optional[float]
    #: Index shares after the action.
    shares_after: t.Optional[float]
    #: Divisor of the index before the action.
    divisor_before: t.Optional[float]
    #: Divisor after the action and all other events of its session.
    divisor_after: t.Optional[float]


class DeskActionEffect(_DeskActionEffect, total=False):
    #: Ordinary dividend before tax as a fraction of the level before it. The total return variant reinvests it; the price return variant has no effect. Null for other actions, and if prices include dividends.
    dividend_return: t.Optional[float]
    #: Part of `dividend_return` that the net return variant reinvests.
    net_dividend_return: t.Optional[float]


class DeskActions(t.TypedDict):
    #: Actions, sorted by ex-date and security.
    actions: t.Sequence[ListedDeskAction]
    #: Number of actions that satisfy the filters.
    total: int
    #: Number of indices missing from `indices`, because only the 50 newest runs are read. Null without them.
    indices_unread: t.Optional[int]


class _DeskDecisionRequest(t.TypedDict):
    #: Decision about the action.
    decision: t.Literal["confirmed", "rejected", "reopened"]


class DeskDecisionRequest(_DeskDecisionRequest, total=False):
    #: Values of other sources; differences from the store become flags.
    sources: t.Sequence[ActionSourceInput]
    #: Comment, for the history and the audit log.
    comment: t.Optional[str]


class DifferenceCauseChange(t.TypedDict):
    #: JSON patch (RFC 6902) of the document of the index. Paths of the index beneath an overlay begin with its id.
    document: t.Sequence[PatchOperation]
    #: Rows of cells.
    data: t.Sequence[DataChange]
    #: Terms by which the outside level follows from the levels of the run; null if there are none.
    rounding: t.Optional[t.Mapping[str, t.Any]]


class DifferenceCauseTies(t.TypedDict):
    #: Event, price, rule or convention that differs.
    subject: t.Literal["dividend", "special_dividend", "split", "spin_off", "rights", "removal", "price", "constituent", "rebalance", "pricing", "cap", "shares", "rounding", "variant", "tax", "reinvestment", "currency", "calendar", "fee", "financing", "day_count", "scale"]
    #: What the outside level did, compared with the run.
    manner: t.Literal["ignored", "added", "doubled", "inverted", "early", "late", "carried", "value"]
    #: Security, exchange rate or country; null for the whole index.
    identifier: t.Optional[str]
    #: Ex-date, session or effective date of the run's own event; null for a convention from the start.
    date: t.Optional[str]
    #: Price, amount, rate or ratio of the outside level.
    value: t.Optional[float]
    sentence: str


class DifferenceCause(t.TypedDict):
    #: Event, price, rule or convention that differs.
    subject: t.Literal["dividend", "special_dividend", "split", "spin_off", "rights", "removal", "price", "constituent", "rebalance", "pricing", "cap", "shares", "rounding", "variant", "tax", "reinvestment", "currency", "calendar", "fee", "financing", "day_count", "scale"]
    #: What the outside level did, compared with the run.
    manner: t.Literal["ignored", "added", "doubled", "inverted", "early", "late", "carried", "value"]
    #: Security, exchange rate or country; null for the whole index.
    identifier: t.Optional[str]
    #: Ex-date, session or effective date of the run's own event; null for a convention from the start.
    date: t.Optional[str]
    #: Price, amount, rate or ratio of the outside level.
    value: t.Optional[float]
    sentence: str
    #: Last session of a state that lasts.
    through: t.Optional[str]
    #: Change with which a run reproduces the outside level. Changes apply in the order of causes.
    change: DifferenceCauseChange
    #: Number of sessions that agree only with this cause.
    sessions: int
    #: Effect of the cause alone on the last common level, in basis points.
    effect_bps: float
    #: Other causes that explain the same sessions equally well.
    ties: t.Sequence[DifferenceCauseTies]


class DifferencesJobStatus(t.TypedDict):
    #: {kind}:{id}, for example backtest:LARGE-100.
    job_id: str
    kind: t.Literal["differences"]
    #: Order in which waiting jobs start.
    priority: t.Literal["high", "normal", "low"]
    #: pending -> running -> succeeded, failed or cancelled. Terminal states never change.
    status: t.Literal["pending", "running", "succeeded", "failed", "cancelled"]
    #: Completed fraction: 0 while pending, exactly 1 after success. It never decreases during an attempt.
    progress: float
    #: Current step.
    message: str
    #: Error of the job; only if it failed.
    error: t.Optional[ErrorDetail]
    #: Time of the submission, ISO-8601 UTC with offset.
    created_at: str
    #: Start of the current attempt.
    started_at: t.Optional[str]
    #: Time of the end, ISO-8601 UTC with offset; null while it has not ended.
    finished_at: t.Optional[str]
    #: Time of the last heartbeat of the running attempt.
    heartbeat_at: t.Optional[str]
    #: Number of starts, which is recorded before the work starts.
    attempt: int
    #: Latest attempts in order, at most eleven. The last one is the current attempt.
    attempts: t.Sequence[JobAttempt]
    #: Request body as it was accepted.
    request: t.Any
    #: SHA-256 of all inputs except the market.
    input_hash: str
    #: X-Request-Id of the submission, which log lines of the job contain. Null if the service submitted the job.
    request_id: t.Optional[str]
    #: Trace of the submission, from its header traceparent.
    trace_id: t.Optional[str]
    #: Addresses that are notified when the job ends.
    callbacks: t.Sequence[JobCallback]
    #: Result of the job, if it succeeded. Null if the run of a backtest was deleted.
    result: t.Optional[DifferencesView]


class DifferencesRequest(t.TypedDict, total=False):
    #: Levels from outside, one per date. Either these or `series`.
    levels: t.Sequence[OutsideLevel]
    #: Identifier of a series or security of the store that has the levels from outside.
    series: str
    #: Return variant of the outside level. Default: the variant with which the most sessions agree.
    variant: t.Optional[t.Literal["price", "total", "net"]]
    #: Currency of the outside level. Default: found from the levels, beginning with that of the index.
    currency: t.Optional[str]
    #: Decimals to which the outside level is rounded. Default: found from the values.
    decimals: t.Optional[int]
    #: First date that is compared.
    start: t.Optional[Date]
    #: Last date that is compared.
    end: t.Optional[Date]
    #: Maximum number of causes.
    causes_max: int
    #: Subjects that are known to agree. No cause concerns them.
    known: t.Sequence[t.Literal["dividend", "special_dividend", "split", "spin_off", "rights", "removal", "price", "constituent", "rebalance", "pricing", "cap", "shares", "rounding", "variant", "tax", "reinvestment", "currency", "calendar", "fee", "financing", "day_count", "scale"]]


class DifferencesViewSessionsUnexplained(t.TypedDict):
    #: The date.
    date: str
    difference_bps: float


class DifferencesViewSessions(t.TypedDict):
    #: Number of sessions of both levels.
    common: int
    #: Sessions on which the levels agree within rounding.
    equal: int
    #: Sessions that agree with all causes.
    explained: int
    unexplained: t.Sequence[DifferencesViewSessionsUnexplained]


class DifferencesViewLargest(t.TypedDict):
    #: The date.
    date: str
    #: Level of the run times the scale.
    own: float
    outside: float
    difference_bps: float


class DifferencesView(t.TypedDict):
    #: The index, or the strategy of a run.
    index_id: str
    #: The optimisation run.
    run_id: str
    #: Return variant of the outside level.
    variant: t.Literal["price", "total", "net"]
    #: Outside level over own level on the first common session.
    scale: float
    #: Decimals of the outside level; null if it is not rounded.
    decimals: t.Optional[int]
    sessions: DifferencesViewSessions
    #: Largest weight.
    largest: DifferencesViewLargest
    #: Mean absolute difference of the levels.
    mean_absolute_bps: float
    #: Course of the differences.
    shapes: t.Sequence[t.Literal["step", "steps", "drift", "shift", "factor", "noise", "currency", "none"]]
    #: Causes by date.
    causes: t.Sequence[DifferenceCause]
    #: True if every session is explained.
    complete: bool
    #: Fewest causes that explain all sessions, if every smaller set was excluded; otherwise null.
    fewest: t.Optional[int]
    #: True if the run with all changes equals the outside level on every common session within rounding.
    reproduced: bool
    #: Null: the differences are not divided into parts.
    parts: None


class Distribution(t.TypedDict):
    #: Mean of the distribution.
    mean: float
    #: Standard deviation over the paths, ddof 1.
    deviation: float
    #: Least.
    minimum: float
    #: Greatest.
    maximum: float
    #: Values by requested percentile, interpolated between order statistics.
    percentiles: t.Mapping[str, float]


class DividendFilterParams(t.TypedDict, total=False):
    """Keeps securities with a minimum trailing yield and an ordinary dividend in each of the last calendar years."""

    #: Minimum of the ordinary dividends of twelve months, divided by the close. Unit: fraction.
    minimum_yield: float
    #: Number of complete calendar years before the decision, each with at least one ordinary dividend. Unit: years.
    minimum_years: int
    #: Treatment of a security without a value of the datapoint. In a ranking, an included security without a value is last.
    missing: t.Literal["exclude", "include"]


class _DividendFilterRule(t.TypedDict):
    #: Id of the rule, unique within the pipeline.
    id: str
    type: t.Literal["DividendFilter"]


class DividendFilterRule(_DividendFilterRule, total=False):
    #: Parameters of the type, by name.
    params: DividendFilterParams
    #: Parameters that are tried, in order, if the rule keeps too few securities.
    fallback: t.Sequence[RuleFallback]


class DividendPointsViewYears(t.TypedDict):
    #: Calendar year.
    year: int
    #: Index points; negative if short positions pay more than long positions receive.
    points: float
    #: Points after withholding tax, as reinvested by a net return index.
    net_points: float


class DividendPointsView(t.TypedDict):
    #: Version of the index or strategy; null for runs that were stored before versions existed.
    index_version: t.Optional[int]
    #: Data store on which the run was computed; null for runs that were stored without it.
    store_id: t.Optional[str]
    #: Causes why the run is stale; null if the stored run equals a new run of the request.
    stale: t.Optional[StaleState]
    #: The index, or the strategy of a run.
    index_id: str
    #: Return variant of the level in which the points are measured.
    variant: t.Literal["price", "total", "net"]
    #: Withholding rate in the definition that net points use, or rates by the value of a field.
    withholding_tax: t.Union[float, WithholdingRates]
    #: Last date of the run.
    as_of: str
    #: Level on as_of; for a strategy rebased to 100.
    level: float
    #: Sessions in the window on which a constituent went ex dividend.
    dates: t.Sequence[str]
    #: Ordinary dividends before tax in index points, one value per date.
    points: t.Sequence[float]
    #: Dividends after withholding tax in index points, one value per date.
    net_points: t.Sequence[float]
    #: Sums of the calendar years in the window.
    years: t.Sequence[DividendPointsViewYears]
    #: Sum of the twelve months that end on as_of.
    trailing: DividendSum
    #: Dividends after as_of.
    announced: AnnouncedDividends


DividendSum = t.TypedDict("DividendSum", {
    "points": float,
    "net_points": float,
    "yield": float,
})


class DivisorCheck(t.TypedDict):
    """The market value divided by the divisor, including the cash of an overlay or a derived index, equals the level at the close. Before the open, it equals the level of the previous close, because no event changes the level."""

    check: t.Literal["divisor"]
    #: Findings block the index (block), or are only reported (warn). Default: block.
    severity: t.Literal["block", "warn"]
    #: Largest relative difference, in addition to rounding.
    tolerance: float


class _DivisorCheckInput(t.TypedDict):
    check: t.Literal["divisor"]


class DivisorCheckInput(_DivisorCheckInput, total=False):
    """The market value divided by the divisor, including the cash of an overlay or a derived index, equals the level at the close. Before the open, it equals the level of the previous close, because no event changes the level."""

    #: Findings block the index (block), or are only reported (warn). Default: block.
    severity: t.Literal["block", "warn"]
    #: Largest relative difference, in addition to rounding.
    tolerance: float


class DocumentAccessOwner(t.TypedDict):
    #: Id of the key, or `sub:` and the subject of the token; null without authentication.
    key_id: t.Optional[str]
    #: Name of the key.
    name: str


class DocumentAccess(t.TypedDict):
    #: Author of the first version; null if that version was purged.
    owner: t.Optional[DocumentAccessOwner]
    #: Clients that can read the document although their prefixes do not include its id: ids or names of keys, or `sub:` and the subject of a token.
    shared_with: t.Sequence[str]


class DocumentChange(t.TypedDict):
    #: JSON pointer into the document after the preceding changes.
    path: str
    #: Operation, as in JSON Patch (RFC 6902).
    op: t.Literal["add", "remove", "replace"]
    #: Previous value; null for an addition.
    before: t.Any
    #: New value; null for a removal.
    after: t.Any


class DocumentVersion(t.TypedDict):
    #: Number of the version, from 1 without gaps. A deletion also has a number.
    version: int
    #: SHA-256 of the content; for a deletion, of the deleted content.
    etag: str
    #: Time of the write, ISO-8601 UTC with offset.
    at: str
    #: Name of the key; `local` without keys.
    author: str
    #: Id of the key, or `sub:` and the subject of the token; null without authentication.
    key_id: t.Optional[str]
    #: X-Change-Note of the write, at most 500 characters; null if there is none.
    note: t.Optional[str]
    #: Effect of the write on the document.
    action: t.Literal["created", "updated", "restored", "deleted"]
    #: Number of the restored version; null for other writes.
    restored_from: t.Optional[int]
    #: X-Request-Id of the write; empty for writes of the engine.
    request_id: str


class DrawdownRow(t.TypedDict):
    #: Last date at the high.
    peak: str
    #: Date of the lowest level.
    trough: str
    #: First date on which the level is back at the high; null if it has not recovered.
    recovery: t.Optional[str]
    #: Lowest level divided by the high, less 1. A fraction.
    depth: float
    #: Number of sessions from the high to the recovery, or to the last date.
    sessions: int


class DriftPayload(t.TypedDict):
    #: Largest single change.
    maximum: float
    #: Date of the rebalance from which the drift is measured.
    since: str
    #: Sum of the absolute changes.
    total_absolute: float
    #: One-way turnover: half the sum of the absolute changes.
    turnover: float


class _EffectiveNumberParams(t.TypedDict):
    #: Smallest effective number. Unit: securities.
    minimum: float


class EffectiveNumberParams(_EffectiveNumberParams, total=False):
    """The effective number of securities (1 divided by the sum of squared weights) is at least a minimum."""

    #: Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated.
    soft: t.Optional[float]
    #: Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy.
    priority: int


class _EffectiveNumberRow(t.TypedDict):
    type: t.Literal["EffectiveNumber"]


class EffectiveNumberRow(_EffectiveNumberRow, total=False):
    #: Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position.
    id: str
    #: Parameters of the type, by name.
    params: EffectiveNumberParams


class Entitlement(t.TypedDict):
    #: Indices of the files. Default: every index.
    indices: t.Optional[t.Sequence[str]]
    #: Tables of the files. `report` is a rendered report. Default: every file.
    tables: t.Optional[t.Sequence[str]]
    #: First session of the files. Default: no limit.
    starts_on: t.Optional[str]
    #: Last session of the files. Default: no limit.
    ends_on: t.Optional[str]


class EntitlementInput(t.TypedDict, total=False):
    #: Indices of the files. Default: every index.
    indices: t.Optional[t.Sequence[str]]
    #: Tables of the files. `report` is a rendered report. Default: every file.
    tables: t.Optional[t.Sequence[str]]
    #: First session of the files. Default: no limit.
    starts_on: t.Optional[Date]
    #: Last session of the files. Default: no limit.
    ends_on: t.Optional[Date]


class EqualRiskWeightParams(t.TypedDict, total=False):
    """Weights with equal risk contributions of all constituents."""

    #: Number of trailing returns of the covariance. Unit: sessions.
    window: int
    #: Target towards which the sample covariance is shrunk.
    target: t.Literal["constant_correlation", "scaled_identity"]
    #: Weight of the target. Default: securities / (securities + observations). Unit: fraction.
    intensity: t.Optional[float]


class _EqualRiskWeightWeighting(t.TypedDict):
    type: t.Literal["EqualRiskWeight"]


class EqualRiskWeightWeighting(_EqualRiskWeightWeighting, total=False):
    #: Parameters of the type, by name.
    params: EqualRiskWeightParams
    #: Maximum weight of a constituent: a number, or an expression such as min(0.09, 3 * weight_in("PARENT")), which is evaluated for each constituent. Default: no maximum. Unit: fraction.
    cap: t.Optional[t.Union[float, str, DatapointInput, ExpressionNodeInput]]
    #: Minimum weight of a security. Default: no minimum. Unit: fraction.
    floor: t.Optional[float]
    #: Maximum weights of groups.
    group_caps: t.Sequence[GroupCapInput]
    #: Reference column, such as ISSUER. `cap` and `ladder_caps` then limit the weight of each group of this column instead of each constituent. A constituent without a value is a separate group.
    cap_by: str
    #: Caps that apply if a limit is exceeded: first caps of single weights, then a cap of the total of large weights.
    ladder_caps: LadderCaps
    #: Datapoint that multiplies the raw weights. Its changes are phased in over several reviews.
    phase_in: PhaseInInput


#: Every constituent has the same weight.
EqualWeightParams = t.Dict[str, t.Any]

class _EqualWeightWeighting(t.TypedDict):
    type: t.Literal["EqualWeight"]


class EqualWeightWeighting(_EqualWeightWeighting, total=False):
    #: Parameters of the type, by name.
    params: EqualWeightParams
    #: Maximum weight of a constituent: a number, or an expression such as min(0.09, 3 * weight_in("PARENT")), which is evaluated for each constituent. Default: no maximum. Unit: fraction.
    cap: t.Optional[t.Union[float, str, DatapointInput, ExpressionNodeInput]]
    #: Minimum weight of a security. Default: no minimum. Unit: fraction.
    floor: t.Optional[float]
    #: Maximum weights of groups.
    group_caps: t.Sequence[GroupCapInput]
    #: Reference column, such as ISSUER. `cap` and `ladder_caps` then limit the weight of each group of this column instead of each constituent. A constituent without a value is a separate group.
    cap_by: str
    #: Caps that apply if a limit is exceeded: first caps of single weights, then a cap of the total of large weights.
    ladder_caps: LadderCaps
    #: Datapoint that multiplies the raw weights. Its changes are phased in over several reviews.
    phase_in: PhaseInInput


class ErrorDetail(t.TypedDict):
    #: Stable error code for programs.
    code: t.Literal["MALFORMED_REQUEST", "BODY_TOO_LARGE", "UNAUTHENTICATED", "FORBIDDEN_SCOPE", "QUOTA_EXCEEDED", "APPROVAL_FORBIDDEN", "FORBIDDEN_ID", "READ_ONLY", "FORBIDDEN_ORIGIN", "ROUTE_NOT_FOUND", "INDEX_NOT_FOUND", "RUN_NOT_FOUND", "ASSET_NOT_IN_RUN", "BENCHMARK_NOT_FOUND", "CONSTRAINT_SET_NOT_FOUND", "RISK_MODEL_NOT_FOUND", "STRATEGY_NOT_FOUND", "TEMPLATE_NOT_FOUND", "RENDER_NOT_FOUND", "NOTHING_PUBLISHED", "VERSION_NOT_FOUND", "WATCHLIST_NOT_FOUND", "PLUGIN_NOT_FOUND", "SCHEDULE_NOT_FOUND", "CALENDAR_NOT_FOUND", "PROCEDURE_NOT_FOUND", "CLIENT_NOT_FOUND", "FILE_NOT_FOUND", "DAY_NOT_FOUND", "ACTION_NOT_FOUND", "APPROVAL_NOT_FOUND", "STORE_NOT_FOUND", "IDENTIFIER_NOT_FOUND", "JOB_NOT_FOUND", "DOCUMENT_UNREADABLE", "METHOD_NOT_ALLOWED", "NOT_ACCEPTABLE", "CHECK_FAILED", "DELIVERY_FAILED", "APPROVAL_REQUIRED", "APPROVAL_CLOSED", "DAY_ENDED", "INDEX_EXISTS", "STRATEGY_EXISTS", "TEMPLATE_EMPTY", "STORE_EXISTS", "STORE_ACTIVE", "STORE_PUBLISHED", "STORE_LOADING", "STORE_REFRESHING", "FOLDER_REGISTERED", "NOTHING_TO_REFRESH", "STORE_NOT_SERVED", "STORE_MISMATCH", "JOB_RUNNING", "RESTATEMENT", "NO_CURRENT_RUN", "NOT_REPRODUCED", "PARTIAL_CLOSES", "PRECONDITION_FAILED", "VALIDATION_FAILED", "INVALID_IDENTIFIER", "VERSION_NOT_RESTORABLE", "ID_MISMATCH", "INVALID_RANGE", "RANGE_TOO_SHORT", "CALENDAR_NOT_COVERED", "NO_DATA_IN_RANGE", "PLUGIN_FAILED", "NO_DATA_AT_DATE", "NO_DATA_KNOWN", "NO_COMMON_DATES", "UNIVERSE_REQUIRED", "EXPIRY_NOT_AFTER_AS_OF", "EXPIRY_ORDER", "RATE_OUT_OF_RANGE", "INDEX_REQUIRED", "TEMPLATE_BUILT_IN", "VARIANT_NOT_AVAILABLE", "TOTAL_LOSS", "INFEASIBLE", "OBJECTIVE_UNATTAINABLE", "EMPTY_INDEX", "NO_RATE", "FX_MISSING", "RISK_INSUFFICIENT_DATA", "LOOK_AHEAD", "MODEL_LACKS_NAMES", "QUERY_LIMIT", "NUMERIC_FAILURE", "SOLVER_FAILED", "MISSING_PRICE", "RATE_LIMITED", "INTERNAL", "NOT_SUPPORTED", "NO_DATA_SOURCE", "STORE_UNAVAILABLE", "OVERLOADED", "DRAINING", "STORAGE_FULL", "UNCLASSIFIED_FAILURE", "RISK_MODEL_CHANGED", "WORKER_CRASHED", "JOB_INTERRUPTED", "WORKER_OUT_OF_MEMORY", "JOB_TIMEOUT", "INDEX_DELETED", "RENDER_FAILED", "STORE_READ_FAILED", "REFRESH_REJECTED", "STORE_WRITE_FAILED"]
    #: Message in one sentence.
    message: str
    #: Further details that depend on the code; null if there are none.
    detail: t.Optional[t.Mapping[str, t.Any]]


class ErrorEnvelope(t.TypedDict):
    #: The error.
    error: ErrorDetail


class ErrorPolicy(t.TypedDict):
    """Differences below the threshold are left unchanged. Material differences are restated within the window, and announced after it."""

    #: Smallest difference of a level that is material, in basis points.
    materiality_bps: float
    #: Number of latest sessions within which a material error is restated. An older error is announced.
    correction_window: int


class _EventsSpec(t.TypedDict):
    #: Share changes wait for the next review (review), or apply after the close before their date (effective). Index shares are then scaled and the divisor is adjusted. Only for weightings by market value.
    share_changes: t.Literal["review", "effective"]
    #: Smallest change that is applied between reviews, relative to the counts that were adopted last. Unit: fraction.
    threshold: float
    #: Replacement of a constituent that leaves between reviews: no security (none), the best-ranked security that the last review did not select and that still passes the rules (next_ranked), or the first of a list (reserve).
    replacement: t.Literal["none", "next_ranked", "reserve"]
    #: A constituent that merges into a security outside the universe is converted into it (convert), or leaves at its last price (remove).
    acquirer: t.Literal["convert", "remove"]


class EventsSpec(_EventsSpec, total=False):
    #: Identifiers, in the order in which they enter.
    reserve: t.Sequence[str]
    #: New securities can enter between reviews. Each of them replaces the lowest-ranked constituent.
    fast_entry: FastEntrySpec
    #: Constituents can leave between reviews. The best-ranked security outside the index replaces each of them.
    fast_exit: FastExitSpec


class EventsSpecInput(t.TypedDict, total=False):
    #: Share changes wait for the next review (review), or apply after the close before their date (effective). Index shares are then scaled and the divisor is adjusted. Only for weightings by market value.
    share_changes: t.Literal["review", "effective"]
    #: Smallest change that is applied between reviews, relative to the counts that were adopted last. Unit: fraction.
    threshold: float
    #: Replacement of a constituent that leaves between reviews: no security (none), the best-ranked security that the last review did not select and that still passes the rules (next_ranked), or the first of a list (reserve).
    replacement: t.Literal["none", "next_ranked", "reserve"]
    #: Identifiers, in the order in which they enter.
    reserve: t.Sequence[str]
    #: New securities can enter between reviews. Each of them replaces the lowest-ranked constituent.
    fast_entry: FastEntrySpecInput
    #: Constituents can leave between reviews. The best-ranked security outside the index replaces each of them.
    fast_exit: FastExitSpecInput
    #: A constituent that merges into a security outside the universe is converted into it (convert), or leaves at its last price (remove).
    acquirer: t.Literal["convert", "remove"]


EventsView = t.TypedDict("EventsView", {
    "from": str,
    "to": str,
    "indices": int,
    "events": t.Sequence["IndexEvent"],
    "covered_from": t.Optional[str],
    "covered_to": t.Optional[str],
    "events_total": int,
    "skipped": int,
    "skipped_causes": "SkippedCauses",
})


class ExceededLimit(t.TypedDict):
    """Soft bound that a solution violates."""

    #: Label of the bound, as in the binding constraints.
    label: str
    #: Id of the constraint in the request; empty if it has none.
    id: str
    #: Type of the constraint.
    type: str
    #: Bound that is violated; `eq` for an equality.
    side: t.Literal["lower", "upper", "eq"]
    #: Unit of `value` and `limit`.
    unit: t.Literal["fraction", "count", "value"]
    #: Value of the solution.
    value: float
    #: Bound as requested.
    limit: float


class ExcessReturnOverlay(t.TypedDict):
    """Return of the index in excess of cash."""

    type: t.Literal["excess_return"]
    #: Series of the data with the rate of cash, percent per year.
    cash: str
    #: Number of days per year.
    basis: t.Union[t.Literal[360], t.Literal[365]]


class _ExcessReturnOverlayInput(t.TypedDict):
    type: t.Literal["excess_return"]
    #: Series of the data with the rate of cash, percent per year.
    cash: str


class ExcessReturnOverlayInput(_ExcessReturnOverlayInput, total=False):
    """Return of the index in excess of cash."""

    #: Number of days per year.
    basis: t.Union[t.Literal[360], t.Literal[365]]


class ExcludeListParams(t.TypedDict):
    """Removes the securities of a list."""

    #: Asset identifiers.
    identifiers: t.Sequence[str]


class _ExcludeListRule(t.TypedDict):
    #: Id of the rule, unique within the pipeline.
    id: str
    type: t.Literal["ExcludeList"]


class ExcludeListRule(_ExcludeListRule, total=False):
    #: Parameters of the type, by name.
    params: ExcludeListParams
    #: Parameters that are tried, in order, if the rule keeps too few securities.
    fallback: t.Sequence[RuleFallback]


class _ExcludeParams(t.TypedDict):
    #: Securities of the constraint.
    identifiers: t.Sequence[str]


class ExcludeParams(_ExcludeParams, total=False):
    """The listed securities have no weight."""

    #: Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated.
    soft: t.Optional[float]
    #: Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy.
    priority: int


class _ExcludeRow(t.TypedDict):
    type: t.Literal["Exclude"]


class ExcludeRow(_ExcludeRow, total=False):
    #: Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position.
    id: str
    #: Parameters of the type, by name.
    params: ExcludeParams


class _ExpectedReturnParams(t.TypedDict):
    #: Smallest annual expected return. Unit: fraction a year.
    lower: float


class ExpectedReturnParams(_ExpectedReturnParams, total=False):
    """The annual expected return of the portfolio is at least a limit, before costs. It is computed from the expected returns of the request, which are required; their uncertainty is not deducted."""

    #: Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated.
    soft: t.Optional[float]
    #: Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy.
    priority: int


class _ExpectedReturnRow(t.TypedDict):
    type: t.Literal["ExpectedReturn"]


class ExpectedReturnRow(_ExpectedReturnRow, total=False):
    #: Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position.
    id: str
    #: Parameters of the type, by name.
    params: ExpectedReturnParams


#: Annualised expected returns of the securities.
ExpectedReturns = t.Union["FieldReturns", "HistoricalReturns", "CapmReturns", "BlackLittermanReturns"]

ExplainedDatapoint = t.TypedDict("ExplainedDatapoint", {
    "path": str,
    "field": str,
    "value": t.Optional[t.Union[str, float, bool]],
    "from": t.Optional[str],
    "to": t.Optional[str],
    "observations": int,
    "known_from": t.Optional[str],
})


class ExplainedRuleComparisons(t.TypedDict):
    #: Path of the comparison in the expression; empty for the whole expression.
    path: str
    #: The condition in words.
    test: str
    #: The value.
    value: t.Optional[t.Union[str, float, bool]]
    #: Result of the comparison; null if unknown.
    outcome: t.Optional[bool]


class ExplainedRule(t.TypedDict):
    #: Position in the order.
    position: int
    #: Id of the rule; null for the universe.
    rule_id: str
    #: Class of the rule; null for the universe.
    rule_type: str
    #: True if the previous composition contained the security.
    constituent: bool
    #: True if the rule kept the security.
    kept: bool
    #: The condition in words.
    test: str
    #: Value of the security; null if missing.
    value: t.Optional[t.Union[str, float, bool]]
    #: Bound of the value. For a ranking, the value of the last security that satisfies the applicable threshold.
    threshold: t.Optional[float]
    #: Rank, 1 for the best; null if the rule does not rank.
    rank: t.Optional[int]
    #: Last rank that satisfies the applicable threshold. With a buffer, it differs for constituents.
    cutoff: t.Optional[int]
    #: True if the security stayed because it was a constituent.
    incumbent: bool
    #: Distance of the value of an excluded security from its threshold. 0 for a kept security; null if the value is not a number.
    distance: t.Optional[float]
    #: All thresholds for the security, beginning with the decisive threshold. `threshold`, `cutoff` and `distance` refer to the decisive threshold.
    thresholds: t.Sequence[ExplainedThreshold]
    #: Comparisons of an expression with the value of the security.
    comparisons: t.Sequence[ExplainedRuleComparisons]


class ExplainedThreshold(t.TypedDict):
    """Threshold of a rule for a security."""

    #: `minimum` minimum value; `maximum` maximum value; `incumbent_minimum` minimum value for a constituent; `minimum_years` minimum number of years with a dividend; `comparison` comparison value; `count` last rank that is kept; `fraction` last rank within the fraction; `coverage` last rank within the coverage; `coverage_buffer` last rank at which a constituent stays; `coverage_lower` last rank within the lower band; `coverage_upper` last rank at which a constituent stays, within the upper band; `enter_rank` last rank at which a new security always enters; `exit_rank` last rank at which a constituent can stay; `places` rank of the last constituent that stayed before the count was reached; `fill_up` rank of the last security that completed the count.
    type: t.Literal["minimum", "maximum", "incumbent_minimum", "minimum_years", "comparison", "count", "fraction", "coverage", "coverage_buffer", "coverage_lower", "coverage_upper", "enter_rank", "exit_rank", "places", "fill_up"]
    #: Last rank that satisfies the threshold; null without a ranking.
    rank: t.Optional[int]
    #: Bound; for a ranking, the value of the security at that rank. Null if there is none.
    value: t.Optional[float]
    #: True if the security satisfied the threshold.
    met: bool
    #: Change of the value of the security that would satisfy the threshold. 0 if it is satisfied; null if the value is not a number.
    distance: t.Optional[float]


class ExportStep(t.TypedDict):
    """Writes files of the published runs, such as closing and opening files, and keeps them with the day for delivery."""

    type: t.Literal["export"]
    #: Files of each index.
    files: t.Sequence[ExportedFile]


class ExportStepInput(t.TypedDict):
    """Writes files of the published runs, such as closing and opening files, and keeps them with the day for delivery."""

    type: t.Literal["export"]
    #: Files of each index.
    files: t.Sequence[ExportedFileInput]


class ExportView(t.TypedDict):
    #: Version of the index or strategy; null for runs that were stored before versions existed.
    index_version: t.Optional[int]
    #: Data store on which the run was computed; null for runs that were stored without it.
    store_id: t.Optional[str]
    #: Causes why the run is stale; null if the stored run equals a new run of the request.
    stale: t.Optional[StaleState]
    #: The index, or the strategy of a run.
    index_id: str
    #: The requested table.
    table: t.Literal["levels", "weights", "constituents", "closing", "opening", "proforma", "rebalances", "trades", "attribution", "events", "exposures", "limits", "breaches", "risk"]
    #: Names of the columns.
    columns: t.Sequence[str]
    #: Rows with one value per column; dates are YYYY-MM-DD.
    data: t.Sequence[t.Sequence[t.Optional[t.Union[str, float]]]]


class _ExportedFile(t.TypedDict):
    #: Table of the export.
    table: t.Literal["levels", "weights", "constituents", "closing", "opening", "proforma", "rebalances", "trades", "attribution", "events", "exposures", "limits", "breaches", "risk"]
    #: Format of the file.
    format: t.Literal["json", "csv", "arrow", "parquet", "xlsx"]
    #: Indices of the plan that have this file. Default: all indices.
    indices: t.Optional[t.Sequence[str]]
    #: True writes the whole history up to the session. Default: only the session.
    from_start: bool
    #: True writes no file if the table has no rows on the session, such as a proforma file between announcements.
    optional: bool


class ExportedFile(_ExportedFile, total=False):
    #: Pattern of the file name with {index}, {table}, {schedule} and {date:YYYYMMDD}. Default: {index}_{date:YYYYMMDD}_{table}.FORMAT.
    name: str
    #: Reference column of the groups of the table.
    by: str


class _ExportedFileInput(t.TypedDict):
    #: Table of the export.
    table: t.Literal["levels", "weights", "constituents", "closing", "opening", "proforma", "rebalances", "trades", "attribution", "events", "exposures", "limits", "breaches", "risk"]


class ExportedFileInput(_ExportedFileInput, total=False):
    #: Format of the file.
    format: t.Literal["json", "csv", "arrow", "parquet", "xlsx"]
    #: Pattern of the file name with {index}, {table}, {schedule} and {date:YYYYMMDD}. Default: {index}_{date:YYYYMMDD}_{table}.FORMAT.
    name: str
    #: Indices of the plan that have this file. Default: all indices.
    indices: t.Optional[t.Sequence[str]]
    #: Reference column of the groups of the table.
    by: str
    #: True writes the whole history up to the session. Default: only the session.
    from_start: bool
    #: True writes no file if the table has no rows on the session, such as a proforma file between announcements.
    optional: bool


class ExposurePayload(t.TypedDict):
    #: Sum of the long weights.
    long: float
    #: Sum of the short weights, negative.
    short: float
    #: Sum of the absolute weights.
    gross: float
    #: Sum of the weights. Cash is 1 less this sum.
    net: float


class ExposuresViewGroups(t.TypedDict):
    #: The group.
    group: str
    #: Sum of the held weights. One value per date.
    weights: t.Sequence[float]
    #: Sum of the weights of the benchmark by date; null without a benchmark.
    benchmark_weights: t.Optional[t.Sequence[float]]


class ExposuresView(t.TypedDict):
    #: Version of the index or strategy; null for runs that were stored before versions existed.
    index_version: t.Optional[int]
    #: Data store on which the run was computed; null for runs that were stored without it.
    store_id: t.Optional[str]
    #: Causes why the run is stale; null if the stored run equals a new run of the request.
    stale: t.Optional[StaleState]
    #: The index, or the strategy of a run.
    index_id: str
    #: Reference column, as known on each date. Securities without a value form the group UNCLASSIFIED. IDENTIFIER makes each security a group.
    by: str
    #: Benchmark of the comparison; null if there is none.
    benchmark: t.Optional[str]
    #: Dates of the run, or the last date of each interval.
    dates: t.Sequence[str]
    #: Groups, sorted by average weight (largest first), with OTHERS last. Their weights add up to the invested weight.
    groups: t.Sequence[ExposuresViewGroups]
    #: Entries, in the order of the request.
    fields: t.Sequence[FieldExposure]
    #: Concentration of the weights.
    concentration: ConcentrationSeries
    #: Active share by date; null without a benchmark.
    active_share: t.Optional[t.Sequence[float]]
    #: One-way turnover of the portfolio since the previous date. The first purchase is excluded. One value per date.
    turnover: t.Sequence[float]


class _ExpressionFilterParams(t.TypedDict):
    #: Condition as text, or a tree of all, any, not and comparisons.
    expression: ExpressionNodeInput


class ExpressionFilterParams(_ExpressionFilterParams, total=False):
    """Keeps securities for which an expression of datapoints is true."""

    #: Treatment of a security for which the expression is unknown because a datapoint is missing.
    missing: t.Literal["exclude", "include"]


class _ExpressionFilterRule(t.TypedDict):
    #: Id of the rule, unique within the pipeline.
    id: str
    type: t.Literal["ExpressionFilter"]


class ExpressionFilterRule(_ExpressionFilterRule, total=False):
    #: Parameters of the type, by name.
    params: ExpressionFilterParams
    #: Parameters that are tried, in order, if the rule keeps too few securities.
    fallback: t.Sequence[RuleFallback]


#: Expression of the datapoints of one security.
ExpressionNode = t.Union["AllNode", "AnyNode", "NotNode", "ComparisonNode", "FieldNode", "ValueNode", "ArithmeticNode", "FunctionNode"]

#: Expression of the datapoints of one security.
ExpressionNodeInput = t.Union["AllNodeInput", "AnyNodeInput", "NotNodeInput", "ComparisonNodeInput", "FieldNodeInput", "ValueNode", "ArithmeticNodeInput", "FunctionNodeInput"]

class FactorAttributionView(t.TypedDict):
    #: Version of the index or strategy; null for runs that were stored before versions existed.
    index_version: t.Optional[int]
    #: Data store on which the run was computed; null for runs that were stored without it.
    store_id: t.Optional[str]
    #: Causes why the run is stale; null if the stored run equals a new run of the request.
    stale: t.Optional[StaleState]
    #: The index, or the strategy of a run.
    index_id: str
    #: The factor model.
    model: t.Literal["styles", "market_sector"]
    #: Factors, in the order of the model.
    factors: t.Sequence[FactorContribution]
    #: Linked returns of the securities that the factors do not explain.
    specific: float
    #: Linked effect of costs, cash, and securities without a regression.
    other: float
    #: Sum of the contributions, specific and other.
    total_return: float
    #: Mean fraction of the gross weight that the regressions include.
    covered_weight: float
    #: Number of periods.
    periods: int
    #: True if the residual is within its tolerance.
    reconciles: bool
    #: Residual, which contains only rounding errors.
    residual: float
    #: Requested value; the first date of the run if omitted.
    requested_start: t.Optional[str]
    #: Requested value; the last date of the run if omitted.
    requested_end: t.Optional[str]
    #: First date.
    start: str
    #: Last date.
    end: str
    #: Months in which the store has too few securities for a regression. The return of these months is in `other`.
    findings: t.Sequence[Finding]


class FactorContribution(t.TypedDict):
    #: MARKET, a sector or a style.
    factor: str
    #: Mean exposure of the held weights.
    average_exposure: float
    #: Exposure times return of the factor, linked over the sessions.
    contribution: float


class _FactorExposureParams(t.TypedDict):
    #: Name of a datapoint, or an expression of datapoints as text or as nodes, as known on the rebalance date.
    field: t.Union[str, ExpressionNodeInput]


class FactorExposureParams(_FactorExposureParams, total=False):
    """The exposure of the portfolio, or of its active weights, to a datapoint is between two bounds. A missing value is replaced by the mean."""

    #: Smallest exposure.
    lower: t.Optional[t.Union[float, BoundPath]]
    #: Largest exposure.
    upper: t.Optional[t.Union[float, BoundPath]]
    #: If true, exposures are z-scores over the securities.
    standardise: bool
    #: If true, the bounds apply to active weights.
    active: bool
    #: Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated.
    soft: t.Optional[float]
    #: Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy.
    priority: int


class _FactorExposureRow(t.TypedDict):
    type: t.Literal["FactorExposure"]


class FactorExposureRow(_FactorExposureRow, total=False):
    #: Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position.
    id: str
    #: Parameters of the type, by name.
    params: FactorExposureParams


class FactorModelPayloadFactors(t.TypedDict):
    #: MARKET, a sector, a style or a principal component; for an imported model, the name of the factor.
    factor: str
    #: Annualised volatility of the return of the factor.
    volatility: float
    #: Mean absolute t-statistic over the sessions; null for a principal component and for an imported model.
    mean_t_statistic: t.Optional[float]
    #: Fraction of the sessions with an absolute t-statistic above 2; null for a principal component and for an imported model.
    significant_share: t.Optional[float]


class FactorModelPayload(t.TypedDict):
    #: Mean fraction of the cross-sectional variance that the factors explain; for principal components, their fraction of all variances. Null for an imported model.
    r_squared: t.Optional[float]
    #: Factors in the order of the model.
    factors: t.Sequence[FactorModelPayloadFactors]


class FastEntrySpec(t.TypedDict):
    #: A new security enters if it ranks at or above this rank.
    rank: int
    #: Datapoint by which constituents and candidates are ranked, largest first.
    field: str
    #: A new security is ranked at the close of this number of sessions after its first price. Unit: sessions.
    after_sessions: int


class _FastEntrySpecInput(t.TypedDict):
    #: A new security enters if it ranks at or above this rank.
    rank: int


class FastEntrySpecInput(_FastEntrySpecInput, total=False):
    #: Datapoint by which constituents and candidates are ranked, largest first.
    field: str
    #: A new security is ranked at the close of this number of sessions after its first price. Unit: sessions.
    after_sessions: int


class FastExitSpec(t.TypedDict):
    #: A constituent leaves if it ranks below this rank.
    rank: int
    #: Datapoint by which constituents and candidates are ranked, largest first.
    field: str
    #: Dates on which constituents are ranked, in the form of `rebalance` of the document. Default: monthly.
    schedule: RebalanceSpec


class _FastExitSpecInput(t.TypedDict):
    #: A constituent leaves if it ranks below this rank.
    rank: int


class FastExitSpecInput(_FastExitSpecInput, total=False):
    #: Datapoint by which constituents and candidates are ranked, largest first.
    field: str
    #: Dates on which constituents are ranked, in the form of `rebalance` of the document. Default: monthly.
    schedule: RebalanceSpecInput


class FeeOverlay(t.TypedDict):
    """The index less an annual fee, which is subtracted every day."""

    type: t.Literal["fee"]
    #: Percent per year: 5 is 5%.
    percent: float
    #: Number of days per year.
    basis: t.Union[t.Literal[360], t.Literal[365]]


class _FeeOverlayInput(t.TypedDict):
    type: t.Literal["fee"]
    #: Percent per year: 5 is 5%.
    percent: float


class FeeOverlayInput(_FeeOverlayInput, total=False):
    """The index less an annual fee, which is subtracted every day."""

    #: Number of days per year.
    basis: t.Union[t.Literal[360], t.Literal[365]]


class FieldCoverage(t.TypedDict):
    """Values of a column."""

    #: Name of the column.
    name: str
    #: Table of the column.
    dataset: t.Literal["market", "reference"]
    #: Number of securities with a value on any date.
    securities: int
    #: Number of securities with a close and a value on the last date; for reference data, with a value valid on it.
    securities_at_end: int
    #: Date of the first value. Null if there is none, or if reference values have no valid_from.
    start: t.Optional[str]
    #: Date of the last value; for reference data, the latest valid_from of a value.
    end: t.Optional[str]


class FieldExposure(t.TypedDict):
    #: Datapoint or reference column.
    field: str
    #: Mean of the datapoint, weighted by the holdings. One value per date; null if no holding has a value.
    mean: t.Sequence[t.Optional[float]]
    #: Fraction of the absolute weights that belongs to securities with a value. One value per date.
    coverage: t.Sequence[float]
    #: Weighted quantile: the smallest value for which the securities with at most this value have this fraction of the weights.
    percentiles: WeightedPercentiles
    #: Exposure of the benchmark; null if there is none.
    benchmark: BenchmarkFieldExposure


class _FieldFilterParams(t.TypedDict):
    #: Name of a column or derived datapoint, an expression as text or as nodes, or an object with name, window, lag, aggregate and transform.
    field: t.Union[str, DatapointInput, ExpressionNodeInput]
    #: Comparison of the datapoint with the value.
    comparison: t.Literal["gt", "ge", "lt", "le", "eq", "ne", "in", "between"]
    #: For gt, ge, lt, le: a number or an expression. For eq, ne: a string, number or boolean. For in: a non-empty array. For between: [low, high].
    value: t.Any


class FieldFilterParams(_FieldFilterParams, total=False):
    """Keeps securities whose datapoint satisfies one comparison. It is a short form of ExpressionFilter."""

    #: Treatment of a security without a value of the datapoint. In a ranking, an included security without a value is last.
    missing: t.Literal["exclude", "include"]


class _FieldFilterRule(t.TypedDict):
    #: Id of the rule, unique within the pipeline.
    id: str
    type: t.Literal["FieldFilter"]


class FieldFilterRule(_FieldFilterRule, total=False):
    #: Parameters of the type, by name.
    params: FieldFilterParams
    #: Parameters that are tried, in order, if the rule keeps too few securities.
    fallback: t.Sequence[RuleFallback]


class FieldListFieldsNumber(t.TypedDict):
    #: Display name.
    name: str
    #: Source of the field.
    dataset: t.Literal["market", "reference", "derived"]
    #: Type of its values.
    kind: t.Literal["number", "string", "boolean"]


class FieldListIndexDefaults(t.TypedDict):
    #: Only currency of the securities, otherwise the currency that the store declares.
    currency: t.Optional[str]
    #: Calendar of the only exchange of the securities.
    calendar: t.Optional[str]
    #: One year after the start of the store; its first date if the store is shorter.
    base_date: t.Optional[str]


class FieldList(t.TypedDict):
    #: Columns and derived datapoints, by name.
    fields: t.Sequence[FieldListFieldsNumber]
    #: Names of the universes of the store.
    universes: t.Sequence[str]
    #: Values of a new index on the store; null if the store does not determine a value.
    index_defaults: FieldListIndexDefaults


class _FieldNode(t.TypedDict):
    node: t.Literal["field"]
    #: Name of a column or derived datapoint, in exact spelling.
    name: str
    #: Table of the datapoint. Null uses the first of market, reference and derived that has the datapoint.
    dataset: t.Optional[t.Literal["market", "reference", "derived"]]
    #: Number of sessions before the decision date.
    lag: int
    #: Number of trailing sessions. Sessions without a price bar are skipped. Required if the aggregate is not last.
    window: t.Optional[int]
    #: Aggregation of a window to one value.
    aggregate: t.Literal["last", "mean", "median", "sum", "min", "max", "std", "count"]
    #: Transform across the remaining securities with a value.
    transform: t.Literal["none", "rank", "percentile", "zscore"]


class FieldNode(_FieldNode, total=False):
    """Datapoint that is read for every security on or before the decision date."""

    #: Canonical text of the tree, at its root; ignored in requests.
    text: str


class _FieldNodeInput(t.TypedDict):
    node: t.Literal["field"]
    #: Name of a column or derived datapoint, in exact spelling.
    name: str


class FieldNodeInput(_FieldNodeInput, total=False):
    """Datapoint that is read for every security on or before the decision date."""

    #: Table of the datapoint. Null uses the first of market, reference and derived that has the datapoint.
    dataset: t.Optional[t.Literal["market", "reference", "derived"]]
    #: Number of sessions before the decision date.
    lag: int
    #: Number of trailing sessions. Sessions without a price bar are skipped. Required if the aggregate is not last.
    window: t.Optional[int]
    #: Aggregation of a window to one value.
    aggregate: t.Literal["last", "mean", "median", "sum", "min", "max", "std", "count"]
    #: Transform across the remaining securities with a value.
    transform: t.Literal["none", "rank", "percentile", "zscore"]
    #: Canonical text of the tree, at its root; ignored in requests.
    text: str


class FieldReturns(t.TypedDict):
    """Datapoint of the store, as known at the decision, as a fraction per year. A missing value is replaced by the mean of the other values."""

    #: Datapoint with the expected returns: its name, or an expression of datapoints as text or as nodes.
    field: t.Union[str, FieldNodeInput, ExpressionNodeInput]
    type: t.Literal["field"]


class _FieldWeightParams(t.TypedDict):
    #: Name of a column or derived datapoint, an expression as text or as nodes, or an object with name, window, lag, aggregate and transform.
    field: t.Union[str, DatapointInput, ExpressionNodeInput]


class FieldWeightParams(_FieldWeightParams, total=False):
    """Weights in proportion to a power of a datapoint."""

    #: Exponent of the value. -1 uses the inverse of the value.
    power: float
    #: Treatment of a security with a negative value: it is not held, its absolute value is used, or the decision fails.
    negative: t.Literal["zero", "abs", "fail"]


class _FieldWeightWeighting(t.TypedDict):
    type: t.Literal["FieldWeight"]


class FieldWeightWeighting(_FieldWeightWeighting, total=False):
    #: Parameters of the type, by name.
    params: FieldWeightParams
    #: Maximum weight of a constituent: a number, or an expression such as min(0.09, 3 * weight_in("PARENT")), which is evaluated for each constituent. Default: no maximum. Unit: fraction.
    cap: t.Optional[t.Union[float, str, DatapointInput, ExpressionNodeInput]]
    #: Minimum weight of a security. Default: no minimum. Unit: fraction.
    floor: t.Optional[float]
    #: Maximum weights of groups.
    group_caps: t.Sequence[GroupCapInput]
    #: Reference column, such as ISSUER. `cap` and `ladder_caps` then limit the weight of each group of this column instead of each constituent. A constituent without a value is a separate group.
    cap_by: str
    #: Caps that apply if a limit is exceeded: first caps of single weights, then a cap of the total of large weights.
    ladder_caps: LadderCaps
    #: Datapoint that multiplies the raw weights. Its changes are phased in over several reviews.
    phase_in: PhaseInInput


class FindingPosition(t.TypedDict):
    #: Offset of the first character.
    start: int
    #: Offset after the last character.
    end: int


class _Finding(t.TypedDict):
    #: Errors prevent a save; warnings do not.
    severity: t.Literal["error", "warning", "info"]
    #: Stable error code for programs.
    code: t.Literal["REQUIRED", "WRONG_TYPE", "OUT_OF_RANGE", "NOT_IN_CHOICES", "UNKNOWN_FIELD", "UNKNOWN_TYPE", "UNKNOWN_PARAMETER", "MISSING_PARAMETER", "DUPLICATE_ID", "DUPLICATE_ROW_ID", "BAD_DATE", "BAD_IDENTIFIER", "ID_MISMATCH", "INVALID_RANGE", "PIPELINE_XOR_DERIVATION", "IMMUTABLE_FIELD", "UNKNOWN_OBJECTIVE", "UNKNOWN_CALENDAR", "UNKNOWN_INDEX", "RUN_NOT_FOUND", "RISK_MODEL_NOT_FOUND", "NO_DATA_IN_RANGE", "CIRCULAR_REFERENCE", "EMPTY_RANGE", "NO_EFFECT", "DEFAULT_TAKEN", "WEIGHTS_NOT_ONE", "RETURNS_DIFFER", "CURRENCIES_DIFFER", "VALUE_TYPE_MISMATCH", "UNKNOWN_FIELD_NAME", "BAD_EXPRESSION", "BAD_QUERY", "UNKNOWN_FUNCTION", "UNIT_MISMATCH", "CAP_INFEASIBLE", "NOT_IN_INDEX", "UNKNOWN_IDENTIFIER", "BENCHMARK_IS_SELF", "UNKNOWN_BLOCK_KIND", "PARENT_CHANGED", "NO_WEIGHT_DATA", "REBALANCE_HELD", "NO_REPLACEMENT", "CONSTRAINT_RELAXED", "LIMIT_NOT_KEPT", "SILENT_DELISTING", "RISK_FALLBACK_IDENTITY", "CHOICE_NOT_PROVEN", "FX_MISSING", "NO_RATE", "RIGHTS_NOT_ADJUSTED", "MISSING_COLUMN", "COLUMN_IGNORED", "ADJUSTMENT_UNEXPLAINED", "NOT_A_NUMBER", "NON_POSITIVE_PRICE", "DUPLICATE_KEY", "UNKNOWN_ACTION_TYPE", "BAD_RATIO", "OVERLAPPING_MEMBERSHIP", "EMPTY_DATASET", "UNREADABLE_FILE", "DAMAGED_FILE", "LOCATION_NOT_ALLOWED", "CALLBACK_NOT_ALLOWED", "TARGET_NOT_ALLOWED", "LOCATION_NOT_FOUND", "MORE_FINDINGS", "CONSTRAINT_SET_NOT_FOUND", "WATCHLIST_NOT_FOUND", "PLUGIN_NOT_FOUND", "PLUGIN_FAULT", "PRICE_JUMP", "GAP_LONG", "ACTION_WITHOUT_PRICE", "ACTION_CONFLICT", "ACTION_DATES", "ACTION_SIZE", "UNKNOWN_CURRENCY", "STALE_TAIL", "PARTIAL_DATE", "PRICE_BASIS", "NO_DIVIDENDS", "CURRENCY_ASSUMED", "FX_CROSSED", "HISTORY_CHANGED", "DATES_ADDED", "SPLIT_RESTATED", "LATE_BARS", "BAR_CORRECTED", "NOT_A_SESSION", "DIFFERENT_DATA", "WINDOW_CUT", "STALE_FILL", "NOT_ANNOUNCED", "TOO_FEW_NAMES", "JOINT_ESTIMATE", "FRONTIER_SCOPE", "LOOK_AHEAD", "MODEL_LACKS_NAMES"]
    #: Message in one sentence.
    message: str
    #: Path of the field, as the client wrote it.
    path: str


class Finding(_Finding, total=False):
    """Result of a check, with its position in the request or in the data."""

    #: Id of the rule or constraint, if it has one.
    row_id: t.Optional[str]
    #: Accepted values, if the field has a fixed set of values.
    accepted: t.Optional[t.Sequence[str]]
    #: The refused value, if it is short.
    value: t.Any
    #: Number of problems that this finding combines. More than 20 problems with the same code and data column are combined into one finding, with the first problem as an example. For a run, the number of times that securities lacked data or a risk model at its rebalances.
    count: int
    #: Paths of the first ten of these problems.
    places: t.Sequence[str]
    #: For a run, the first rebalance with the finding. Rebalances before the run are not included.
    first_date: str
    #: The last of these rebalances.
    last_date: str
    #: Name of the file, sheet or archive member with the problem. If there are several, the first one. The path contains the row.
    file: str
    #: Range of characters of an expression that was sent as text: from `start` to before `end`.
    position: FindingPosition


#: Code of a finding.
FindingCode = t.Literal["REQUIRED", "WRONG_TYPE", "OUT_OF_RANGE", "NOT_IN_CHOICES", "UNKNOWN_FIELD", "UNKNOWN_TYPE", "UNKNOWN_PARAMETER", "MISSING_PARAMETER", "DUPLICATE_ID", "DUPLICATE_ROW_ID", "BAD_DATE", "BAD_IDENTIFIER", "ID_MISMATCH", "INVALID_RANGE", "PIPELINE_XOR_DERIVATION", "IMMUTABLE_FIELD", "UNKNOWN_OBJECTIVE", "UNKNOWN_CALENDAR", "UNKNOWN_INDEX", "RUN_NOT_FOUND", "RISK_MODEL_NOT_FOUND", "NO_DATA_IN_RANGE", "CIRCULAR_REFERENCE", "EMPTY_RANGE", "NO_EFFECT", "DEFAULT_TAKEN", "WEIGHTS_NOT_ONE", "RETURNS_DIFFER", "CURRENCIES_DIFFER", "VALUE_TYPE_MISMATCH", "UNKNOWN_FIELD_NAME", "BAD_EXPRESSION", "BAD_QUERY", "UNKNOWN_FUNCTION", "UNIT_MISMATCH", "CAP_INFEASIBLE", "NOT_IN_INDEX", "UNKNOWN_IDENTIFIER", "BENCHMARK_IS_SELF", "UNKNOWN_BLOCK_KIND", "PARENT_CHANGED", "NO_WEIGHT_DATA", "REBALANCE_HELD", "NO_REPLACEMENT", "CONSTRAINT_RELAXED", "LIMIT_NOT_KEPT", "SILENT_DELISTING", "RISK_FALLBACK_IDENTITY", "CHOICE_NOT_PROVEN", "FX_MISSING", "NO_RATE", "RIGHTS_NOT_ADJUSTED", "MISSING_COLUMN", "COLUMN_IGNORED", "ADJUSTMENT_UNEXPLAINED", "NOT_A_NUMBER", "NON_POSITIVE_PRICE", "DUPLICATE_KEY", "UNKNOWN_ACTION_TYPE", "BAD_RATIO", "OVERLAPPING_MEMBERSHIP", "EMPTY_DATASET", "UNREADABLE_FILE", "DAMAGED_FILE", "LOCATION_NOT_ALLOWED", "CALLBACK_NOT_ALLOWED", "TARGET_NOT_ALLOWED", "LOCATION_NOT_FOUND", "MORE_FINDINGS", "CONSTRAINT_SET_NOT_FOUND", "WATCHLIST_NOT_FOUND", "PLUGIN_NOT_FOUND", "PLUGIN_FAULT", "PRICE_JUMP", "GAP_LONG", "ACTION_WITHOUT_PRICE", "ACTION_CONFLICT", "ACTION_DATES", "ACTION_SIZE", "UNKNOWN_CURRENCY", "STALE_TAIL", "PARTIAL_DATE", "PRICE_BASIS", "NO_DIVIDENDS", "CURRENCY_ASSUMED", "FX_CROSSED", "HISTORY_CHANGED", "DATES_ADDED", "SPLIT_RESTATED", "LATE_BARS", "BAR_CORRECTED", "NOT_A_SESSION", "DIFFERENT_DATA", "WINDOW_CUT", "STALE_FILL", "NOT_ANNOUNCED", "TOO_FEW_NAMES", "JOINT_ESTIMATE", "FRONTIER_SCOPE", "LOOK_AHEAD", "MODEL_LACKS_NAMES"]

class _FixedWeightParams(t.TypedDict):
    #: Identifier to weight. Unit: fraction.
    weights: t.Mapping[str, float]


class FixedWeightParams(_FixedWeightParams, total=False):
    """Weights by identifier. Constituents without a weight are not held."""

    #: True scales the weights of the selected securities to a sum of 1. Otherwise they must sum to 1.
    renormalise: bool


class _FixedWeightWeighting(t.TypedDict):
    type: t.Literal["FixedWeight"]


class FixedWeightWeighting(_FixedWeightWeighting, total=False):
    #: Parameters of the type, by name.
    params: FixedWeightParams
    #: Maximum weight of a constituent: a number, or an expression such as min(0.09, 3 * weight_in("PARENT")), which is evaluated for each constituent. Default: no maximum. Unit: fraction.
    cap: t.Optional[t.Union[float, str, DatapointInput, ExpressionNodeInput]]
    #: Minimum weight of a security. Default: no minimum. Unit: fraction.
    floor: t.Optional[float]
    #: Maximum weights of groups.
    group_caps: t.Sequence[GroupCapInput]
    #: Reference column, such as ISSUER. `cap` and `ladder_caps` then limit the weight of each group of this column instead of each constituent. A constituent without a value is a separate group.
    cap_by: str
    #: Caps that apply if a limit is exceeded: first caps of single weights, then a cap of the total of large weights.
    ladder_caps: LadderCaps
    #: Datapoint that multiplies the raw weights. Its changes are phased in over several reviews.
    phase_in: PhaseInInput


class FolderTarget(t.TypedDict):
    type: t.Literal["folder"]
    #: Name of the target, unique among the targets of the client.
    name: str
    #: Tables whose files are sent to the target. `report` is a rendered report. Default: all files that the client can receive.
    tables: t.Optional[t.Sequence[str]]
    #: Folder.
    url: str
    #: Path below the address: folders, and a name with {file} (the name of the file), {client}, {index}, {table}, {schedule} and {date:YYYYMMDD}.
    path: str
    #: True writes a file NAME.sha256 after each file, in the format of sha256sum.
    checksum: bool


class _FolderTargetInput(t.TypedDict):
    type: t.Literal["folder"]
    #: Name of the target, unique among the targets of the client.
    name: str
    #: Folder.
    url: str


class FolderTargetInput(_FolderTargetInput, total=False):
    #: Tables whose files are sent to the target. `report` is a rendered report. Default: all files that the client can receive.
    tables: t.Optional[t.Sequence[str]]
    #: Path below the address: folders, and a name with {file} (the name of the file), {client}, {index}, {table}, {schedule} and {date:YYYYMMDD}.
    path: str
    #: True writes a file NAME.sha256 after each file, in the format of sha256sum.
    checksum: bool


class FreeFloatFilterParams(t.TypedDict, total=False):
    """Keeps securities with a minimum free float."""

    #: Minimum free float, as a fraction of the shares. Unit: fraction.
    minimum: float
    #: Treatment of a security without a value of the datapoint. In a ranking, an included security without a value is last.
    missing: t.Literal["exclude", "include"]


class _FreeFloatFilterRule(t.TypedDict):
    #: Id of the rule, unique within the pipeline.
    id: str
    type: t.Literal["FreeFloatFilter"]


class FreeFloatFilterRule(_FreeFloatFilterRule, total=False):
    #: Parameters of the type, by name.
    params: FreeFloatFilterParams
    #: Parameters that are tried, in order, if the rule keeps too few securities.
    fallback: t.Sequence[RuleFallback]


class _FreezeParams(t.TypedDict):
    #: Securities of the constraint.
    identifiers: t.Sequence[str]


class FreezeParams(_FreezeParams, total=False):
    """The listed securities keep their weight in the reference portfolio."""

    #: Portfolio from which trades are measured: the index, the previous solved weights, or the weights held just before the rebalance, after drift.
    reference: t.Literal["index", "previous", "held"]
    #: Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated.
    soft: t.Optional[float]
    #: Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy.
    priority: int


class _FreezeRow(t.TypedDict):
    type: t.Literal["Freeze"]


class FreezeRow(_FreezeRow, total=False):
    #: Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position.
    id: str
    #: Parameters of the type, by name.
    params: FreezeParams


class _FrontierPayloadPoints(t.TypedDict):
    #: Annualised expected return.
    expected_return: float
    #: Annualised standard deviation of returns.
    volatility: float
    #: Annualised standard deviation of return differences.
    tracking_error: float


class FrontierPayloadPoints(_FrontierPayloadPoints, total=False):
    #: Weights of the securities held at the point. Absent in runs of earlier versions, as are portfolio and index.
    weights: t.Mapping[str, float]
    #: Risk aversion for which max_utility has this solution, with these expected returns; null for the point with the least variance.
    risk_aversion: t.Optional[float]


class _FrontierPayloadTangency(t.TypedDict):
    #: Annualised expected return.
    expected_return: float
    #: Annualised standard deviation of returns.
    volatility: float
    #: Annualised standard deviation of return differences.
    tracking_error: float
    #: Excess return divided by volatility.
    sharpe: float


class FrontierPayloadTangency(_FrontierPayloadTangency, total=False):
    #: Weights of the securities held at the point. Absent in runs of earlier versions, as are portfolio and index.
    weights: t.Mapping[str, float]
    #: Risk aversion for which max_utility has this solution, with these expected returns; null for the point with the least variance.
    risk_aversion: t.Optional[float]


class FrontierPayloadByObjective(t.TypedDict):
    #: Annualised expected return.
    expected_return: float
    #: Annualised standard deviation of returns.
    volatility: float
    #: Annualised standard deviation of return differences.
    tracking_error: float
    #: Measure of `risk`, which the objective minimises.
    risk_measure: t.Literal["volatility", "tracking_error", "cvar", "cdar"]
    #: Minimum risk at the expected return: annualised tracking error; cvar and cdar as a fraction of value, per session.
    risk: float
    #: Weights of the holdings of the point.
    weights: t.Mapping[str, float]


class FrontierPayloadPortfolio(t.TypedDict):
    #: Annualised expected return.
    expected_return: float
    #: Annualised standard deviation of returns.
    volatility: float
    #: Annualised standard deviation of return differences.
    tracking_error: float


class FrontierPayloadIndex(t.TypedDict):
    #: Annualised expected return.
    expected_return: float
    #: Annualised standard deviation of returns.
    volatility: float
    #: Annualised standard deviation of return differences.
    tracking_error: float


class _FrontierPayload(t.TypedDict):
    #: Points from the least variance to the largest expected return within the constraints, equally spaced in expected return.
    points: t.Sequence[FrontierPayloadPoints]
    #: Portfolio with the largest excess return over the risk-free rate per unit of volatility; null if no excess return is positive.
    tangency: t.Optional[FrontierPayloadTangency]


class FrontierPayload(_FrontierPayload, total=False):
    #: Points by rank, from the least variance of each draw to its largest expected return. Risk and return are computed with the original estimates. Null without `resampling`; absent in runs of earlier versions.
    resampled: t.Optional[ResampledFrontier]
    #: Frontier by the risk measure of the objective, without costs, from the optimum to the largest expected return, for min_tracking_error, min_cvar and min_cdar. For tail risk, it has 21, 11 or 6 points, depending on the computing time. Null for other objectives, whose frontier is `points`; absent in runs of earlier versions.
    by_objective: t.Optional[t.Sequence[FrontierPayloadByObjective]]
    #: Risk and return of the weights of the run.
    portfolio: FrontierPayloadPortfolio
    #: Risk and return of the weights of the index, which may violate the constraints.
    index: FrontierPayloadIndex


class FullInvestmentParams(t.TypedDict, total=False):
    """The weights add up to 1. This constraint is present by default unless bounds of the sum of weights replace it."""

    #: Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated.
    soft: t.Optional[float]
    #: Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy.
    priority: int


class _FullInvestmentRow(t.TypedDict):
    type: t.Literal["FullInvestment"]


class FullInvestmentRow(_FullInvestmentRow, total=False):
    #: Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position.
    id: str
    #: Parameters of the type, by name.
    params: FullInvestmentParams


class _FunctionNode(t.TypedDict):
    node: t.Literal["function"]
    #: Name of a function: see `functions` of /indices/rule-types.
    name: str
    #: Arguments of the function, in order.
    operands: t.Sequence[ExpressionNode]


class FunctionNode(_FunctionNode, total=False):
    """Function of the catalogue with its operands."""

    #: Column whose values define the groups in which the function is applied.
    by: str
    #: Securities to which the function applies: the remaining securities (default), or the whole universe.
    over: t.Literal["selection", "universe"]
    #: Trailing sessions.
    window: int
    #: Number of sessions before the decision date.
    lag: int
    #: Lower percentile, a fraction.
    low: float
    #: Upper percentile, a fraction.
    high: float
    #: Canonical text of the tree, at its root; ignored in requests.
    text: str


class _FunctionNodeInput(t.TypedDict):
    node: t.Literal["function"]
    #: Name of a function: see `functions` of /indices/rule-types.
    name: str
    #: Arguments of the function, in order.
    operands: t.Sequence[ExpressionNodeInput]


class FunctionNodeInput(_FunctionNodeInput, total=False):
    """Function of the catalogue with its operands."""

    #: Column whose values define the groups in which the function is applied.
    by: str
    #: Securities to which the function applies: the remaining securities (default), or the whole universe.
    over: t.Literal["selection", "universe"]
    #: Trailing sessions.
    window: int
    #: Number of sessions before the decision date.
    lag: int
    #: Lower percentile, a fraction.
    low: float
    #: Upper percentile, a fraction.
    high: float
    #: Canonical text of the tree, at its root; ignored in requests.
    text: str


class FunctionSpec(t.TypedDict):
    #: Name of the function.
    name: str
    #: Scope of the function: one security, several securities, trailing sessions, or the decision.
    form: t.Literal["elementwise", "cross_section", "over_time", "decision"]
    #: Syntax.
    signature: str
    #: Description in one or two sentences.
    help: str
    #: A complete expression.
    example: str


class FuturesPriceRequestDividends(t.TypedDict):
    #: First day without the entitlement.
    ex_date: Date
    #: Index points.
    amount: float


class _FuturesPriceRequest(t.TypedDict):
    #: Expiry of the contract.
    expiry: Date


class FuturesPriceRequest(_FuturesPriceRequest, total=False):
    #: Index whose level is the spot. Exactly one of index_id and spot is required.
    index_id: t.Optional[str]
    #: Spot level, greater than 0. Requires as_of.
    spot: t.Optional[float]
    #: Valuation date. Default: the date of the latest level.
    as_of: t.Optional[Date]
    #: Financing rate. A fraction, annual and continuously compounded. Default: 0.
    risk_free_rate: float
    #: Dividend yield. A fraction, annual and continuously compounded. Default: 0.
    dividend_yield: float
    #: Cost of borrowing the securities. A positive rate lowers the forward. A fraction, annual and continuously compounded. Default: 0.
    borrow_rate: float
    #: Discrete dividends in index points between as_of and expiry. Cannot be combined with a non-zero dividend_yield.
    dividends: t.Sequence[FuturesPriceRequestDividends]
    #: `announced`: the announced dividends of the latest run of `index_id`, in index points, with an ex-date up to the expiry, as known on the last date of the run. Excludes `dividends` and a yield.
    dividend_source: t.Literal["given", "announced"]
    #: Observed price, which is used for the mispricing and the implied rates.
    market_price: t.Optional[float]
    #: Amount of money per index point.
    multiplier: float
    #: Number of contracts; negative for a short position.
    contracts: float


class FuturesPriceResponse(t.TypedDict):
    #: The index, or the strategy of a run.
    index_id: t.Optional[str]
    #: Requested value; null if omitted.
    requested_as_of: t.Optional[str]
    #: Session that was used.
    as_of: str
    #: Expiry of the contract.
    expiry: str
    #: Calendar days.
    days: int
    #: days / 365.
    year_fraction: float
    #: Level of the underlying index.
    spot: float
    #: Theoretical price.
    fair_value: float
    #: fair_value less spot.
    basis: float
    #: ln(fair_value / spot) / year_fraction.
    annualised_carry: float
    #: Components of the basis.
    carry: CarryDecomposition
    #: Sum of the discrete dividends between as_of and expiry, index points; 0 with a yield.
    dividend_points: float
    #: contracts x multiplier x fair_value.
    notional: float
    #: Change of the fair value per point of spot.
    delta: float
    #: Change of the fair value per basis point of the risk-free rate.
    rho: float
    #: Change of the fair value per basis point of dividend yield.
    dividend_sensitivity: float
    #: market_price less fair_value; null without market_price.
    mispricing: t.Optional[float]
    #: Risk-free rate that reproduces market_price.
    implied_rate: t.Optional[float]
    #: Dividend yield that reproduces market_price; null with discrete dividends.
    implied_dividend_yield: t.Optional[float]


class GenerateJobStatus(t.TypedDict):
    #: {kind}:{id}, for example backtest:LARGE-100.
    job_id: str
    kind: t.Literal["generate"]
    #: Order in which waiting jobs start.
    priority: t.Literal["high", "normal", "low"]
    #: pending -> running -> succeeded, failed or cancelled. Terminal states never change.
    status: t.Literal["pending", "running", "succeeded", "failed", "cancelled"]
    #: Completed fraction: 0 while pending, exactly 1 after success. It never decreases during an attempt.
    progress: float
    #: Current step.
    message: str
    #: Error of the job; only if it failed.
    error: t.Optional[ErrorDetail]
    #: Time of the submission, ISO-8601 UTC with offset.
    created_at: str
    #: Start of the current attempt.
    started_at: t.Optional[str]
    #: Time of the end, ISO-8601 UTC with offset; null while it has not ended.
    finished_at: t.Optional[str]
    #: Time of the last heartbeat of the running attempt.
    heartbeat_at: t.Optional[str]
    #: Number of starts, which is recorded before the work starts.
    attempt: int
    #: Latest attempts in order, at most eleven. The last one is the current attempt.
    attempts: t.Sequence[JobAttempt]
    #: Request body as it was accepted.
    request: t.Any
    #: SHA-256 of all inputs except the market.
    input_hash: str
    #: X-Request-Id of the submission, which log lines of the job contain. Null if the service submitted the job.
    request_id: t.Optional[str]
    #: Trace of the submission, from its header traceparent.
    trace_id: t.Optional[str]
    #: Addresses that are notified when the job ends.
    callbacks: t.Sequence[JobCallback]
    #: Result of the job, if it succeeded. Null if the run of a backtest was deleted.
    result: t.Optional[DataStore]


class GenerateSyntheticRequest(t.TypedDict, total=False):
    #: Default: derived from the seed, for example synthetic-42-1.
    store_id: str
    #: Display name.
    name: str
    #: Seed of the random numbers. Equal requests give equal data on every platform.
    seed: int
    #: Number of securities at the start, without later listings. The number of securities times the number of sessions must be at most 31500000.
    assets: int
    #: First session.
    start: Date
    #: Last date. Default: the end of the last complete calendar year.
    end: Date
    #: Exchange, as a MIC.
    calendar: str
    #: ISO 4217 code.
    currency: str
    #: Number of sectors.
    sectors: int
    #: Expected annual return of the market.
    market_return: float
    #: Annual volatility of the market.
    market_volatility: float
    #: Specific volatility of a security relative to the market, annualised.
    specific_volatility: float
    #: Paid quarterly.
    dividend_yield: float
    #: Probability for each security.
    splits_per_year: float
    #: Per asset.
    delistings_per_year: float
    #: Per asset.
    listings_per_year: float
    #: Fraction of the bars that is removed.
    missing_rate: float
    #: True activates the store when it is complete.
    activate: bool


class GovernanceOverviewRegisters(t.TypedDict):
    #: Receivers of files.
    clients: int
    #: Procedures of the administrator.
    procedures: int
    #: Entries of the registers of errors of all indices.
    errors: int
    #: Decisions about days of all schedules.
    judgements: int
    #: Number of entries of the audit log; null for a client that is limited to its own documents.
    audit: t.Optional[int]


class GovernanceOverviewStatements(t.TypedDict):
    #: The index, or the strategy of a run.
    index_id: str
    #: Last published date; null if there is none.
    published_through: t.Optional[str]
    #: Number of entries of the published log, including restatements; null if the log cannot be read.
    entries: t.Optional[int]
    #: Newest version of the definition; null without versions.
    version: t.Optional[int]
    #: Version of the definition of the last published close; null if nothing is published, or if it is unknown.
    published_version: t.Optional[int]
    #: Sections of the statement that are empty: the purpose if the index has no description, the procedures if none applies to it.
    to_complete: t.Sequence[t.Literal["purpose", "procedures"]]
    #: Number of entries of the register of errors.
    errors: int
    #: Last date of the data store of the index; null if the store has no data.
    data_through: t.Optional[str]
    #: Sessions of the index after its last published date, up to the last date of the data. Null if nothing is published or the store has no data.
    sessions_behind: t.Optional[int]


class GovernanceOverview(t.TypedDict):
    #: Number of entries of each register.
    registers: GovernanceOverviewRegisters
    #: State of the benchmark statements, by id of the index.
    statements: t.Sequence[GovernanceOverviewStatements]
    #: Newest entries of the registers of errors; up to 5.
    latest_errors: t.Sequence[PublishedError]
    #: Newest decisions with a reason about days of schedules; up to 5.
    latest_judgements: t.Sequence[Judgement]


class _GrossExposureParams(t.TypedDict):
    #: Largest sum of absolute weights. Unit: fraction.
    upper: float


class GrossExposureParams(_GrossExposureParams, total=False):
    """The sum of the absolute weights is at most a limit: 1.5 allows short positions of 0.25 if the weights add up to 1. Position bounds with a negative lower bound allow short positions."""

    #: Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated.
    soft: t.Optional[float]
    #: Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy.
    priority: int


class _GrossExposureRow(t.TypedDict):
    type: t.Literal["GrossExposure"]


class GrossExposureRow(_GrossExposureRow, total=False):
    #: Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position.
    id: str
    #: Parameters of the type, by name.
    params: GrossExposureParams


class GroupAttributionRow(t.TypedDict):
    #: The group.
    group: str
    #: Mean weight at the beginning of the periods.
    average_weight: float
    #: Mean weight of the group in the benchmark. Null without a benchmark.
    benchmark_average_weight: t.Optional[float]
    #: Return of the group in the run, compounded over the periods in which the group has a weight. In a period it is the contribution of the group, after costs, divided by its weight at the start; the effects use the same returns. Null if the group has no weight in any period, or a return below -1 in one, which opposite positions or costs of a small weight can cause.
    total_return: t.Optional[float]
    #: Return of the group in the benchmark, defined in the same way. Null also without a benchmark.
    benchmark_return: t.Optional[float]
    #: Contribution of the group to the total return; the groups sum to it.
    contribution: float
    #: Effect of a group weight that differs from the benchmark. Null without a benchmark.
    allocation: t.Optional[float]
    #: Effect of a group return that differs from the benchmark. Null without a benchmark.
    selection: t.Optional[float]
    #: Joint effect of both. Null without a benchmark.
    interaction: t.Optional[float]


class GroupAttributionViewEffects(t.TypedDict):
    #: Effect of different group weights.
    allocation: float
    #: Effect of different securities within the groups.
    selection: float
    #: Joint effect of both.
    interaction: float


class GroupAttributionView(t.TypedDict):
    #: Version of the index or strategy; null for runs that were stored before versions existed.
    index_version: t.Optional[int]
    #: Data store on which the run was computed; null for runs that were stored without it.
    store_id: t.Optional[str]
    #: Causes why the run is stale; null if the stored run equals a new run of the request.
    stale: t.Optional[StaleState]
    #: The index, or the strategy of a run.
    index_id: str
    #: Reference column, as known at the end of the window. The group UNCLASSIFIED contains the securities without a value. The group CASH contains the uninvested part and the separate return of an overlay.
    by: str
    #: Benchmark of the comparison; null if there is none.
    benchmark: t.Optional[str]
    #: Return of the run.
    return_variant: t.Literal["price", "total", "net"]
    #: Return variant of the benchmark; `raw` for unadjusted levels; null if there is no benchmark.
    benchmark_variant: t.Optional[t.Literal["price", "total", "net", "raw"]]
    #: One row per group.
    groups: t.Sequence[GroupAttributionRow]
    #: Sum of each effect over all groups. The effects add up to the active return. Null without a benchmark.
    effects: t.Optional[GroupAttributionViewEffects]
    #: Last level divided by the first, less 1.
    total_return: float
    #: Return of the benchmark over the same dates.
    benchmark_return: t.Optional[float]
    #: total_return less benchmark_return; the effects of all groups sum to it.
    active_return: t.Optional[float]
    #: Number of periods.
    periods: int
    #: Residual, which contains only rounding errors.
    residual: float
    #: True if the residual is within its tolerance.
    reconciles: bool
    #: Requested value; the first date of the run if omitted.
    requested_start: str
    #: Requested value; the last date of the run if omitted.
    requested_end: str
    #: End of the first complete period. A full timestamp.
    start: str
    #: Latest date of the run on or before the requested end. A full timestamp.
    end: str
    #: `RETURNS_DIFFER`: only one of run and benchmark includes dividends.
    findings: t.Sequence[Finding]


class _GroupBoundsParams(t.TypedDict):
    #: Reference column of the groups.
    field: str


class GroupBoundsParams(_GroupBoundsParams, total=False):
    """The weight of each group is between two bounds. Securities without a group form a separate group."""

    #: Groups of the constraint. Default: every group.
    groups: t.Optional[t.Sequence[str]]
    #: Smallest weight of a group. Unit: fraction.
    lower: t.Union[float, BoundPath]
    #: Largest weight of a group. Unit: fraction.
    upper: t.Union[float, BoundPath]
    #: Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated.
    soft: t.Optional[float]
    #: Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy.
    priority: int


class _GroupBoundsRow(t.TypedDict):
    type: t.Literal["GroupBounds"]


class GroupBoundsRow(_GroupBoundsRow, total=False):
    #: Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position.
    id: str
    #: Parameters of the type, by name.
    params: GroupBoundsParams


class GroupCap(t.TypedDict):
    #: Reference column.
    field: str
    #: Largest weight of a group.
    cap: float
    #: Groups that are capped. Default: every group.
    groups: t.Optional[t.Sequence[str]]


class _GroupCapInput(t.TypedDict):
    #: Reference column.
    field: str
    #: Largest weight of a group.
    cap: float


class GroupCapInput(_GroupCapInput, total=False):
    #: Groups that are capped. Default: every group.
    groups: t.Optional[t.Sequence[str]]


class _GroupCardinalityParams(t.TypedDict):
    #: Reference column of the groups.
    field: str


class GroupCardinalityParams(_GroupCardinalityParams, total=False):
    """The number of securities held in each group is between two bounds."""

    #: Groups of the constraint. Default: every group.
    groups: t.Optional[t.Sequence[str]]
    #: Minimum number of holdings in a group. Unit: securities.
    minimum: int
    #: Maximum number of holdings in a group. Unit: securities.
    maximum: int
    #: Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated.
    soft: t.Optional[float]
    #: Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy.
    priority: int


class _GroupCardinalityRow(t.TypedDict):
    type: t.Literal["GroupCardinality"]


class GroupCardinalityRow(_GroupCardinalityRow, total=False):
    #: Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position.
    id: str
    #: Parameters of the type, by name.
    params: GroupCardinalityParams


class GroupLadder(t.TypedDict):
    #: Weights above this value are added up. All other weights are capped at it.
    each_above: float
    #: The caps apply if the total of these weights exceeds this value.
    together_above: float
    #: Total of these weights if the caps apply.
    to: float


class _GroupLimitParams(t.TypedDict):
    #: Column whose values are the groups. Securities without a value form one group.
    field: str
    #: Maximum number of securities of one group. Unit: securities.
    maximum: int


class GroupLimitParams(_GroupLimitParams, total=False):
    """Keeps a maximum number of securities of each group, which are the best by a field."""

    #: Datapoint of the ranking within a group.
    rank_field: t.Union[str, DatapointInput, ExpressionNodeInput]
    #: Treatment of a security without a value of the datapoint. In a ranking, an included security without a value is last.
    missing: t.Literal["exclude", "include"]


class _GroupLimitRule(t.TypedDict):
    #: Id of the rule, unique within the pipeline.
    id: str
    type: t.Literal["GroupLimit"]


class GroupLimitRule(_GroupLimitRule, total=False):
    #: Parameters of the type, by name.
    params: GroupLimitParams
    #: Parameters that are tried, in order, if the rule keeps too few securities.
    fallback: t.Sequence[RuleFallback]


class _GroupWeightParams(t.TypedDict):
    #: Column whose values are the groups. Securities without a value form one group.
    field: str


class GroupWeightParams(_GroupWeightParams, total=False):
    """Sets the weights of groups first, and then the weights of the securities within each group."""

    #: Weighting of the groups. market_cap uses the free float.
    between: t.Literal["equal", "market_cap", "fixed"]
    #: Weight of each group if the weights are fixed. A group without a weight is not held. Unit: fraction.
    group_weights: t.Optional[t.Mapping[str, float]]
    #: Weighting of the securities in a group. market_cap uses the free float.
    within: t.Literal["equal", "market_cap"]


class _GroupWeightWeighting(t.TypedDict):
    type: t.Literal["GroupWeight"]


class GroupWeightWeighting(_GroupWeightWeighting, total=False):
    #: Parameters of the type, by name.
    params: GroupWeightParams
    #: Maximum weight of a constituent: a number, or an expression such as min(0.09, 3 * weight_in("PARENT")), which is evaluated for each constituent. Default: no maximum. Unit: fraction.
    cap: t.Optional[t.Union[float, str, DatapointInput, ExpressionNodeInput]]
    #: Minimum weight of a security. Default: no minimum. Unit: fraction.
    floor: t.Optional[float]
    #: Maximum weights of groups.
    group_caps: t.Sequence[GroupCapInput]
    #: Reference column, such as ISSUER. `cap` and `ladder_caps` then limit the weight of each group of this column instead of each constituent. A constituent without a value is a separate group.
    cap_by: str
    #: Caps that apply if a limit is exceeded: first caps of single weights, then a cap of the total of large weights.
    ladder_caps: LadderCaps
    #: Datapoint that multiplies the raw weights. Its changes are phased in over several reviews.
    phase_in: PhaseInInput


class _HeaderBlock(t.TypedDict):
    kind: t.Literal["header"]
    #: Title that is printed above the block.
    title: t.Optional[str]
    #: Index (or strategy) whose latest run the block shows.
    index_id: t.Optional[str]
    #: Width of the block. Two consecutive half blocks are placed next to each other.
    width: t.Literal["full", "half"]
    #: Subtitle that is printed below the title.
    subtitle: t.Optional[str]
    #: True prints the last date and the settings of the run.
    stamp: bool


class HeaderBlock(_HeaderBlock, total=False):
    #: True begins a new page. Default: false.
    new_page: bool


class _HeaderBlockInput(t.TypedDict):
    kind: t.Literal["header"]


class HeaderBlockInput(_HeaderBlockInput, total=False):
    #: Title that is printed above the block.
    title: t.Optional[str]
    #: Index (or strategy) whose latest run the block shows.
    index_id: t.Optional[str]
    #: Width of the block. Two consecutive half blocks are placed next to each other.
    width: t.Literal["full", "half"]
    #: Subtitle that is printed below the title.
    subtitle: t.Optional[str]
    #: True prints the last date and the settings of the run.
    stamp: bool
    #: True begins a new page. Default: false.
    new_page: bool


class HealthBuild(t.TypedDict):
    #: Commit of the build; null if unknown.
    commit: t.Optional[str]
    #: Time of the build, ISO-8601 UTC.
    built_at: str


class HealthStorePartialDates(t.TypedDict):
    #: Number of dates on which only some securities of the store have a bar.
    total: int
    #: The latest five of these dates, YYYY-MM-DD, newest first.
    latest: t.Sequence[str]


class HealthStore(t.TypedDict):
    #: Id of the served data store.
    active: t.Optional[str]
    #: State of the data store.
    status: t.Optional[str]
    #: Latest session of the data store, YYYY-MM-DD.
    end: t.Optional[str]
    #: Findings of the last load of the data. `divisor audit STORE` lists the securities.
    partial_dates: t.Optional[HealthStorePartialDates]


class HealthJobsLanes(t.TypedDict):
    #: Queue of backtests, optimisations, sweeps and other long jobs.
    heavy: LaneHealth
    #: Queue of heavy jobs that are expected to need more than 2 GiB of memory.
    huge: LaneHealth
    #: Queue of loads of data stores and documents.
    light: LaneHealth


class HealthJobs(t.TypedDict):
    #: Number of waiting jobs.
    pending: int
    #: Number of running jobs.
    running: int
    #: Queues of all machines. Huge jobs are heavy jobs that are expected to need more than 2 GiB. They use the heavy slots of machines with more memory for jobs.
    lanes: HealthJobsLanes


class HealthStates(t.TypedDict):
    #: Time of the change, ISO-8601 UTC with offset.
    since: str
    #: State that began at this time.
    status: t.Literal["ok", "degraded"]
    #: Reason of the state, and messages of the failed checks; null for `ok`.
    reason: t.Optional[str]


class Health(t.TypedDict):
    #: Degraded if no data store is active or a check fails.
    status: t.Literal["ok", "degraded"]
    #: Reason for the status `degraded`, in one sentence; otherwise null.
    reason: t.Optional[str]
    #: The running engine version.
    version: str
    #: Build of the running program; null if it was only compiled.
    build: t.Optional[HealthBuild]
    #: Start of the process, ISO-8601 UTC with offset.
    started_at: str
    #: Seconds since the start of the process.
    uptime_seconds: float
    #: The served data store; all members are null if there is none.
    store: HealthStore
    #: Number of unfinished jobs.
    jobs: HealthJobs
    #: Checks with their results.
    checks: t.Sequence[HealthCheck]
    #: Served data store and the stores that indices name, each compared with the calendars of its indices. At most a minute old.
    freshness: t.Sequence[StoreFreshness]
    #: The latest 20 states of this process, newest last. The process checks its state every 15 seconds.
    states: t.Sequence[HealthStates]
    #: Every limit that applies to clients, by name.
    limits: Limits


class HealthCheck(t.TypedDict):
    #: Name of the check.
    name: str
    #: True if the check passes.
    ok: bool
    #: True if the check passes but its message needs attention.
    warning: bool
    #: Description of the problem or of the subject, or null.
    message: t.Optional[str]


class HeldIndex(t.TypedDict):
    #: The index, or the strategy of a run.
    index_id: str
    #: Session since which the index is held back.
    since: str
    #: Step that holds the index back.
    step: t.Literal["refresh", "checks", "run", "compare", "publish", "export", "render", "deliver"]
    #: Stable error code for programs.
    code: t.Optional[str]
    #: Reason in a sentence.
    reason: str


class HierarchicalRiskParityWeightParams(t.TypedDict, total=False):
    """Orders securities by a tree of their correlations. The weight is split from the root down, in inverse proportion to the variance of each half."""

    #: Number of trailing returns of the sample covariance. Unit: sessions.
    window: int
    #: Distance between two clusters: between their nearest members (single), between their farthest members (complete), the mean of all pairs (average), or the increase of the variance within them (ward).
    linkage: t.Literal["single", "complete", "average", "ward"]
    #: Euclidean distance between columns of correlation distances, as published (columns), or the correlation distance (correlation).
    distance: t.Literal["columns", "correlation"]
    #: Stored risk model whose covariance replaces the sample covariance. Default: the sample covariance.
    risk_model: t.Optional[str]


class _HierarchicalRiskParityWeightWeighting(t.TypedDict):
    type: t.Literal["HierarchicalRiskParityWeight"]


class HierarchicalRiskParityWeightWeighting(_HierarchicalRiskParityWeightWeighting, total=False):
    #: Parameters of the type, by name.
    params: HierarchicalRiskParityWeightParams
    #: Maximum weight of a constituent: a number, or an expression such as min(0.09, 3 * weight_in("PARENT")), which is evaluated for each constituent. Default: no maximum. Unit: fraction.
    cap: t.Optional[t.Union[float, str, DatapointInput, ExpressionNodeInput]]
    #: Minimum weight of a security. Default: no minimum. Unit: fraction.
    floor: t.Optional[float]
    #: Maximum weights of groups.
    group_caps: t.Sequence[GroupCapInput]
    #: Reference column, such as ISSUER. `cap` and `ladder_caps` then limit the weight of each group of this column instead of each constituent. A constituent without a value is a separate group.
    cap_by: str
    #: Caps that apply if a limit is exceeded: first caps of single weights, then a cap of the total of large weights.
    ladder_caps: LadderCaps
    #: Datapoint that multiplies the raw weights. Its changes are phased in over several reviews.
    phase_in: PhaseInInput


class _HistoricalReturns(t.TypedDict):
    type: t.Literal["historical"]


class HistoricalReturns(_HistoricalReturns, total=False):
    """Annualised arithmetic means over the window of the risk model, shrunk towards the mean of all securities."""

    #: Weight of the mean of all securities. With 1, all expected returns are equal. Unit: fraction.
    shrinkage: float


class HistoryCheck(t.TypedDict):
    """The refresh of the day does not change the history of constituents."""

    check: t.Literal["history"]
    #: Findings block the index (block), or are only reported (warn). Default: block.
    severity: t.Literal["block", "warn"]


class _HistoryCheckInput(t.TypedDict):
    check: t.Literal["history"]


class HistoryCheckInput(_HistoryCheckInput, total=False):
    """The refresh of the day does not change the history of constituents."""

    #: Findings block the index (block), or are only reported (warn). Default: block.
    severity: t.Literal["block", "warn"]


class HistoryFilterParams(t.TypedDict, total=False):
    """Keeps securities with price bars on a minimum fraction of the trailing sessions."""

    #: Number of trailing sessions. Unit: sessions.
    sessions: int
    #: Minimum fraction of the sessions with a price bar. Unit: fraction.
    coverage: float
    #: Treatment of a security without a value of the datapoint. In a ranking, an included security without a value is last.
    missing: t.Literal["exclude", "include"]


class _HistoryFilterRule(t.TypedDict):
    #: Id of the rule, unique within the pipeline.
    id: str
    type: t.Literal["HistoryFilter"]


class HistoryFilterRule(_HistoryFilterRule, total=False):
    #: Parameters of the type, by name.
    params: HistoryFilterParams
    #: Parameters that are tried, in order, if the rule keeps too few securities.
    fallback: t.Sequence[RuleFallback]


class IdentifierSearchIdentifiers(t.TypedDict):
    #: Asset identifier.
    identifier: str
    #: Display name, if the reference data has one.
    name: t.Optional[str]
    #: First bar.
    start: t.Optional[str]
    #: Last bar.
    end: t.Optional[str]
    #: Latest SECTOR of the reference data.
    sector: t.Optional[str]
    #: Latest CURRENCY of the reference data. Default: the currency of the store.
    currency: t.Optional[str]
    #: CLOSE of the last bar, as stored.
    close: t.Optional[float]
    #: MARKET_CAP on the date of the last bar.
    market_cap: t.Optional[float]


class IdentifierSearch(t.TypedDict):
    #: Matching names.
    identifiers: t.Sequence[IdentifierSearchIdentifiers]
    #: Value of `after` for the next page; null on the last page.
    next: t.Optional[str]


class _ImportRequest(t.TypedDict):
    #: Display name.
    name: str


class ImportRequest(_ImportRequest, total=False):
    #: Id of the store. Default: the name in lower case, with other characters replaced by dashes.
    store_id: str
    #: Format of the content: an Excel workbook, a zip archive of CSV files, or a zip archive of workbooks with one sheet each. With csv, the content can also be a single CSV file.
    format: t.Literal["xlsx", "csv.zip", "csv"]
    #: Price basis of CLOSE: as traded, divided by later splits, or by splits and dividends.
    adjustment: t.Literal["none", "splits", "total"]
    #: Currency of securities without a CURRENCY. An append does not change the currency of the store.
    currency: t.Optional[str]
    #: Mapping of a market that does not follow the template.
    mapping: t.Optional[MappingInput]
    #: Activate the store immediately.
    activate: bool
    #: Action if the id is already used. append adds new rows to an imported store.
    on_exists: t.Literal["refuse", "replace", "append"]
    #: The file in base64.
    content: t.Optional[str]
    #: Tables in the request, instead of content: market, reference, corporate_actions, universes, series.
    tables: t.Optional[t.Mapping[str, TableFrame]]


class ImportResult(t.TypedDict):
    #: The store.
    store: DataStore
    #: Rows per dataset: rows that were read, and actions that were derived from adjusted closes.
    rows: t.Mapping[str, int]
    #: Distinct identifiers.
    identifiers: int
    #: First date.
    start: t.Optional[str]
    #: Last date.
    end: t.Optional[str]
    #: Data warnings, which do not block the import.
    findings: t.Sequence[Finding]


class ImportedModelDateCovariance(t.TypedDict):
    #: Securities.
    index: t.Sequence[str]
    #: The same securities.
    columns: t.Sequence[str]
    #: Rows of numbers.
    data: t.Sequence[t.Sequence[t.Any]]


class ImportedModelDateExposures(t.TypedDict):
    #: Securities.
    index: t.Sequence[str]
    #: Factors.
    columns: t.Sequence[str]
    #: Rows of numbers.
    data: t.Sequence[t.Sequence[t.Any]]


class ImportedModelDateFactorCovariance(t.TypedDict):
    #: Factors.
    index: t.Sequence[str]
    #: The same factors.
    columns: t.Sequence[str]
    #: Rows of numbers.
    data: t.Sequence[t.Sequence[t.Any]]


class _ImportedModelDate(t.TypedDict):
    #: Day from which the model applies, ascending.
    date: str


class ImportedModelDate(_ImportedModelDate, total=False):
    #: Covariances of the securities, in the form of GET /risk-models/{model_id}.
    covariance: ImportedModelDateCovariance
    #: B: exposures of the securities to the factors, with factor_covariance and specific_variances.
    exposures: ImportedModelDateExposures
    #: F: covariances of the factors.
    factor_covariance: ImportedModelDateFactorCovariance
    #: D: specific variances by security.
    specific_variances: t.Mapping[str, t.Any]


class ImportedModelPayloadDates(t.TypedDict):
    #: Day from which the model applies.
    date: str
    #: Securities of the date.
    assets: int
    #: True if negative eigenvalues were clipped.
    repaired: bool
    #: Smallest eigenvalue of the matrix in the response.
    smallest_eigenvalue: float
    #: Securities of other dates that have no covariance on this date.
    lacks: t.Sequence[str]


class ImportedModelPayload(t.TypedDict):
    #: Period of variances and covariances: year or session. Values per session are multiplied by `annualisation`.
    units: t.Literal["annual", "daily"]
    #: Number of sessions per year, for daily units.
    annualisation: int
    #: True replaces covariances that are not symmetric by the mean of both values, and negative eigenvalues by 0 without changing variances. By default, both are errors.
    repair: bool
    #: Ascending.
    dates: t.Sequence[ImportedModelPayloadDates]


class IncludeListParams(t.TypedDict):
    """Keeps only the securities of a list."""

    #: Asset identifiers.
    identifiers: t.Sequence[str]


class _IncludeListRule(t.TypedDict):
    #: Id of the rule, unique within the pipeline.
    id: str
    type: t.Literal["IncludeList"]


class IncludeListRule(_IncludeListRule, total=False):
    #: Parameters of the type, by name.
    params: IncludeListParams
    #: Parameters that are tried, in order, if the rule keeps too few securities.
    fallback: t.Sequence[RuleFallback]


class IndexAction(t.TypedDict):
    #: First day without the entitlement.
    ex_date: str
    #: Asset identifier.
    identifier: str
    #: Type in the store. SILENT_DELISTING: the security left because it had no price during the waiting period of the treatment; the value is its last price. SPIN_OFF_EXIT: a security spun off from `related` left at its first close (`spin_offs: "drop_after_first_session"`), with the shares held until then.
    type: t.Literal["DIVIDEND", "SPECIAL_DIVIDEND", "RETURN_OF_CAPITAL", "SPLIT", "STOCK_DIVIDEND", "BONUS_ISSUE", "RIGHTS_ISSUE", "SPIN_OFF", "MERGER", "ACQUISITION", "DELISTING", "TICKER_CHANGE", "SILENT_DELISTING", "SPIN_OFF_EXIT"]
    #: As in the store. Dividends and returns of capital: cash per share. Splits, stock dividends and bonus issues: share-count multiplier. Rights issue: new shares per share held. Spin-off or merger: shares of `related` per share held. Acquisition or delisting: price paid per share. Null if a security ends and the payment per share is unknown.
    value: t.Optional[float]
    #: Other identifier of a spin-off, merger or ticker change.
    related: t.Optional[str]
    #: Cash per share that a merger pays in addition to the shares of `related`; null if it pays none.
    cash: t.Optional[float]
    #: Day of the announcement; null if unknown.
    announced: t.Optional[str]
    #: `coming`: the ex-date is after as_of, and the action was known on as_of. The figures after the action are then pro forma.
    state: t.Literal["effective", "coming"]
    #: True if the holder must still decide. This applies to a rights issue, to a dividend with a scrip_ratio, and to two offers for a security on one ex-date: an ACQUISITION (cash) and a MERGER (shares). The decision is open until the election_date or, if it is unknown, until the ex-date.
    awaits_decision: bool
    #: Last day of the election; null if unknown.
    election_date: t.Optional[str]
    #: Default of the election; null if unknown.
    election_default: t.Optional[t.Literal["cash", "shares", "take_up", "sell", "sell_to_fund", "lapse"]]
    #: Result of each choice at the theoretical price ex rights or ex dividend; empty if there is no choice or the subscription price is unknown.
    choices: t.Sequence[ActionChoice]
    #: Previous close of the security in its currency; for a coming action, the close on as_of.
    price_before: t.Optional[float]
    #: Weight at the previous close; for a coming action, on as_of.
    weight_before: float
    #: Weight at the close of the ex-date; pro forma at prices that change only because of the action.
    weight_after: t.Optional[float]
    #: Index shares: weight times level, divided by price.
    shares_before: float
    #: Index shares after the action; null if they depend on a decision.
    shares_after: t.Optional[float]
    #: Divisor of the index at the previous close; for a coming action, on as_of. Null for a strategy.
    divisor_before: t.Optional[float]
    #: Divisor after the action and all other events of its session, at the close of the ex-date. For a coming action, pro forma at the close of as_of; later price changes affect the actual divisor. Null if it is not yet known.
    divisor_after: t.Optional[float]
    #: Ordinary dividend before tax as a fraction of the level before it. The total return variant reinvests it; the price return variant has no effect. Null for other actions, and if prices include dividends.
    dividend_return: t.Optional[float]
    #: Part of `dividend_return` that the net return variant reinvests.
    net_dividend_return: t.Optional[float]
    #: Ordinary dividend before tax in index points: `dividend_return` times the level before it. If the return variants share index shares and divisor, this is the amount per share times the index shares over the divisor. Null where `dividend_return` is null.
    dividend_points: t.Optional[float]
    #: Part of `dividend_points` after withholding tax.
    net_dividend_points: t.Optional[float]
    #: Cash per share held before, in the currency of the security, if the action removes the security. The index uses this cash to buy the other constituents. For a merger into shares and cash, the cash part. For a past action, the value that the run applied. Otherwise null.
    proceeds: t.Optional[float]
    #: Shares of the security that replaces this security. For a spin-off, shares of the new security, with weight 0 before its first close, and also after it if the security then leaves. For a past action, the shares that the run applied. Otherwise null.
    received: t.Optional[ReceivedShares]


class IndexBooksPayload(t.TypedDict):
    #: Series of the definition; for a derived index, the series of its parent.
    target: t.Optional[BookPayload]
    #: Series of the derived index; null for a rule-based index.
    optimised: t.Optional[BookPayload]


class IndexCollection(t.TypedDict):
    #: Summaries by id.
    indices: t.Sequence[IndexSummary]
    #: Number of stored documents that are omitted because they cannot be read.
    skipped: int
    #: Number of omitted documents by cause.
    skipped_causes: SkippedCauses


class IndexDeletion(t.TypedDict):
    #: Index of the request, followed by the indices that depend on it, depth first in the order of their ids.
    deleted: t.Sequence[DeletedIndex]


class IndexDocumentPluginsCodeDatapointInputs(t.TypedDict):
    #: Display name.
    name: str
    #: Expression that computes the values.
    expression: ExpressionNode
    #: Number of trailing sessions. Each session has one value for each security.
    sessions: int


class IndexDocumentPluginsCodeDatapoint(t.TypedDict):
    #: Kind of the object.
    kind: t.Literal["datapoint", "selection", "weighting"]
    #: SHA-256 of the stored plug-in.
    sha256: str
    #: Inputs, in the order of the program.
    inputs: t.Sequence[IndexDocumentPluginsCodeDatapointInputs]
    #: Parameters, with defaults for omitted parameters.
    parameters: t.Mapping[str, t.Union[float, str, bool]]
    #: Source code of the plug-in.
    source: str


class _IndexDocumentPlugins(t.TypedDict):
    #: Id of the stored plug-in. Its version when the index is computed is used.
    plugin: str
    #: Values of parameters. Omitted parameters have their defaults.
    parameters: t.Mapping[str, t.Union[float, str, bool]]


class IndexDocumentPlugins(_IndexDocumentPlugins, total=False):
    #: Plug-in with which a run was computed; only in the documents of runs. Ignored in requests.
    code: IndexDocumentPluginsCodeDatapoint


class IndexDocumentClosures(t.TypedDict):
    #: Changes, one for each date.
    changes: t.Sequence[SessionChange]
    #: Version of the recorded changes.
    version: int


class _IndexDocument(t.TypedDict):
    #: 1 to 64 letters, digits, dashes and underscores.
    id: str
    #: Name that is shown next to the id.
    name: str
    #: Description of the index, free text.
    description: t.Optional[str]
    #: Exchange whose sessions the index uses.
    calendar: str
    #: The first rebalance is on the first session on or after this date.
    base_date: str
    #: Level on the first session. Unit: points.
    base_value: float
    #: ISO 4217 code of the currency of the level. An overlay has the currency into which it converts, otherwise the currency of the underlying index.
    currency: str
    #: Schedule of the rebalances.
    rebalance: RebalanceSpec
    #: Rules of a rule-based index. A definition has exactly one of pipeline and derivation.
    pipeline: t.Optional[PipelineSpec]
    #: Optimisation of a derived index. A definition has exactly one of pipeline and derivation.
    derivation: t.Optional[DerivationPayload]
    #: Free labels.
    tags: t.Sequence[str]


class IndexDocument(_IndexDocument, total=False):
    #: Market value on the first session. The initial divisor is this value divided by the base value. Default: the base value, so that the initial divisor is 1. Unit: money.
    base_market_value: float
    #: Data store on which the index is computed, even if another store is active. Null: the active store.
    store_id: t.Optional[str]
    #: Universe of the selection.
    universe: UniverseSpec
    #: Reviews in addition to the rebalance, each with its schedule and scope. On the same date, they run in the order membership, weights, shares.
    reviews: t.Sequence[ReviewSpec]
    #: Expressions of datapoints by name. The document can use these names like datapoints. They have priority over columns of the store.
    datapoints: t.Mapping[str, t.Union[str, ExpressionNode]]
    #: Stored plug-ins by name. Each name is a datapoint of the document, and PluginFilter and PluginWeight refer to it.
    plugins: t.Mapping[str, IndexDocumentPlugins]
    #: Decimals of levels, divisor, index shares and weights. A half is rounded away from zero.
    rounding: RoundingSpec
    #: Changes between reviews. Default: no changes.
    events: EventsSpec
    #: Definition of an overlay; only in an overlay on another index.
    kind: t.Literal["overlay"]
    #: Underlying index of an overlay. A blend lists its parts instead.
    source_index_id: str
    #: Type and parameters of an overlay on its underlying index.
    overlay: OverlaySpec
    #: Changes of the methodology by date, earliest first. The history before each date does not change.
    amendments: t.Sequence[Amendment]
    #: Recorded changes of calendars with which a run was computed; only in the documents of runs. Ignored in requests.
    closures: t.Mapping[str, IndexDocumentClosures]


class IndexDocumentBodyPluginsCodeDatapointInputs(t.TypedDict):
    #: Display name.
    name: str
    #: Expression that computes the values.
    expression: ExpressionNodeInput
    #: Number of trailing sessions. Each session has one value for each security.
    sessions: int


class IndexDocumentBodyPluginsCodeDatapoint(t.TypedDict):
    #: Kind of the object.
    kind: t.Literal["datapoint", "selection", "weighting"]
    #: SHA-256 of the stored plug-in.
    sha256: str
    #: Inputs, in the order of the program.
    inputs: t.Sequence[IndexDocumentBodyPluginsCodeDatapointInputs]
    #: Parameters, with defaults for omitted parameters.
    parameters: t.Mapping[str, t.Union[float, str, bool]]
    #: Source code of the plug-in.
    source: str


class _IndexDocumentBodyPlugins(t.TypedDict):
    #: Id of the stored plug-in. Its version when the index is computed is used.
    plugin: str


class IndexDocumentBodyPlugins(_IndexDocumentBodyPlugins, total=False):
    #: Values of parameters. Omitted parameters have their defaults.
    parameters: t.Mapping[str, t.Union[float, str, bool]]
    #: Plug-in with which a run was computed; only in the documents of runs. Ignored in requests.
    code: IndexDocumentBodyPluginsCodeDatapoint


class IndexDocumentBodyClosures(t.TypedDict):
    #: Changes, one for each date.
    changes: t.Sequence[SessionChange]
    #: Version of the recorded changes.
    version: int


class _IndexDocumentBody(t.TypedDict):
    #: 1 to 64 letters, digits, dashes and underscores.
    id: str
    #: Name that is shown next to the id.
    name: str
    #: Exchange whose sessions the index uses.
    calendar: str
    #: The first rebalance is on the first session on or after this date.
    base_date: Date


class IndexDocumentBody(_IndexDocumentBody, total=False):
    """An IndexDocument with the parameters of every rule and weighting class."""

    #: Description of the index, free text.
    description: t.Optional[str]
    #: Level on the first session. Unit: points.
    base_value: float
    #: Market value on the first session. The initial divisor is this value divided by the base value. Default: the base value, so that the initial divisor is 1. Unit: money.
    base_market_value: float
    #: ISO 4217 code of the currency of the level. An overlay has the currency into which it converts, otherwise the currency of the underlying index.
    currency: str
    #: Data store on which the index is computed, even if another store is active. Null: the active store.
    store_id: t.Optional[str]
    #: Universe of the selection.
    universe: UniverseSpecInput
    #: Schedule of the rebalances.
    rebalance: RebalanceSpecInput
    #: Reviews in addition to the rebalance, each with its schedule and scope. On the same date, they run in the order membership, weights, shares.
    reviews: t.Sequence[ReviewSpecInput]
    #: Expressions of datapoints by name. The document can use these names like datapoints. They have priority over columns of the store.
    datapoints: t.Mapping[str, t.Union[str, ExpressionNodeInput]]
    #: Stored plug-ins by name. Each name is a datapoint of the document, and PluginFilter and PluginWeight refer to it.
    plugins: t.Mapping[str, IndexDocumentBodyPlugins]
    #: Decimals of levels, divisor, index shares and weights. A half is rounded away from zero.
    rounding: RoundingSpec
    #: Rules of a rule-based index. A definition has exactly one of pipeline and derivation.
    pipeline: t.Optional[PipelineBody]
    #: Changes between reviews. Default: no changes.
    events: EventsSpecInput
    #: Optimisation of a derived index. A definition has exactly one of pipeline and derivation.
    derivation: t.Optional[DerivationPayloadInput]
    #: Definition of an overlay; only in an overlay on another index.
    kind: t.Literal["overlay"]
    #: Underlying index of an overlay. A blend lists its parts instead.
    source_index_id: str
    #: Type and parameters of an overlay on its underlying index.
    overlay: OverlaySpecInput
    #: Changes of the methodology by date, earliest first. The history before each date does not change.
    amendments: t.Sequence[Amendment]
    #: Recorded changes of calendars with which a run was computed; only in the documents of runs. Ignored in requests.
    closures: t.Mapping[str, IndexDocumentBodyClosures]
    #: Free labels.
    tags: t.Sequence[str]


class IndexEvent(t.TypedDict):
    #: The date.
    date: str
    #: `holiday`: weekday on which the exchange is closed; `early_close`: session that closes before the usual time by the rules of the exchange calendar; `closure`: recorded change of the sessions of an exchange: a closure, a half day, a late opening, an added session; `announcement`: session on which a composition is announced, if it is before the effective date; `effective`: date on which a rebalance takes effect, at its close; `expiry`: expiry of index futures: the third Friday of March, June, September and December, or the previous session
    kind: t.Literal["holiday", "early_close", "closure", "announcement", "effective", "expiry"]
    #: Index of the event; null for an event of an exchange.
    index_id: t.Optional[str]
    #: Exchange MIC.
    calendar: str
    #: Effective date of the rebalance; null for other events.
    effective: t.Optional[str]
    #: Trigger of the rebalance: the schedule, or a breach in the newest run; null for other events.
    cause: t.Optional[t.Literal["schedule", "breach", "replacement", "fast_entry", "fast_exit"]]
    #: The rule whose breach triggers the rebalance; null for other events.
    rule: t.Optional[t.Literal["UCITS_5_10_40", "UCITS_20_35", "RIC_25_5_50", "SEC_75_5_10"]]
    #: Description of the event.
    summary: str


class IndexExplanationWeighting(t.TypedDict):
    #: Class name.
    type: str
    #: The formula of the raw weight.
    formula: str
    #: Values of the formula.
    parts: t.Mapping[str, t.Optional[t.Union[str, float, bool]]]
    #: Raw weight.
    raw: float
    #: Sum of the raw weights of all securities.
    raw_total: float
    #: raw / raw_total.
    uncapped_weight: float


class IndexExplanationCappingRounds(t.TypedDict):
    #: Factor applied to the weights that are not capped.
    scale: float
    #: Securities that reach the cap in the round.
    capped: t.Sequence[str]


class IndexExplanationCapping(t.TypedDict):
    #: Maximum weight of a security; null if there is none.
    cap: t.Optional[float]
    #: Minimum weight of a security.
    floor: float
    #: weight = min(cap, max(floor, scale * uncapped_weight)).
    scale: float
    #: True if the cap limits the weight of the security.
    capped: bool
    #: Redistribution under a single cap. Each round scales the uncapped securities, and then caps the securities above the cap.
    rounds: t.Sequence[IndexExplanationCappingRounds]


class IndexExplanationDrift(t.TypedDict):
    #: Weight held after the close.
    held_weight: t.Optional[float]
    #: Value after less value before.
    change: float


class _IndexExplanation(t.TypedDict):
    #: The index, or the strategy of a run.
    index_id: str
    #: Asset identifier.
    identifier: str
    #: Requested value; null if omitted.
    requested_as_of: t.Optional[str]
    #: Session of the explanation.
    as_of: str
    #: Effective date of the composition in force.
    rebalance_date: str
    #: Session whose data was used.
    decision_date: str
    #: Reviews that decided the composition, in order. `rebalance` is the review of the document itself.
    reviews: t.Sequence[str]
    #: True if the security could be selected on the decision date.
    in_universe: bool
    #: True if the index holds the security at the close of as_of. Constituents can also change between rebalances.
    included: bool
    #: First rule that excluded the security; null if no rule excluded it.
    excluded_by: t.Optional[str]
    #: Values that the definition read for the security.
    datapoints: t.Sequence[ExplainedDatapoint]
    #: Every rule and its result for the security.
    rules: t.Sequence[ExplainedRule]
    #: Computation of the uncapped weight from the datapoints; null for an excluded security.
    weighting: t.Optional[IndexExplanationWeighting]
    #: Effect of the cap on the weight; null for an excluded security.
    capping: t.Optional[IndexExplanationCapping]
    #: Optimisation of a derived index. Rules, weighting and capping then describe the source. Null for a rule-based index.
    derivation: t.Optional[DerivedSource]
    #: Fraction of the decided weights that is still held on the effective date, because securities can leave before it. The applied weight is the decided weight divided by this fraction.
    stayed: float
    #: Decided weight, if it was converted to index shares before the effective close (`rebalance.weights_as: "shares"` with notice). The applied weight is then the weight of these shares. Otherwise null.
    decided_weight: t.Optional[float]
    #: Applied weight of the composition in force; null if the security is excluded.
    weight: t.Optional[float]
    #: Weight held at the close of as_of; null if the security is not held.
    held_weight: t.Optional[float]
    #: Last entry into the index on or before as_of; null if there is none.
    entered: t.Optional[ConstituentChange]
    #: Last exit from the index on or before as_of; null if there is none. It is earlier than `entered` if the security re-entered.
    left: t.Optional[ConstituentChange]
    #: Changes between reviews by which the security entered or left on or before as_of, in order.
    replacements: t.Sequence[Replacement]
    #: Pending order for the security; null if there is none.
    order: t.Optional[WaitingOrder]
    #: Weight held on as_of and its change since the rebalance; null on the rebalance date.
    drift: t.Optional[IndexExplanationDrift]


class IndexExplanation(_IndexExplanation, total=False):
    #: Version of the explained definition. Null if it has no versions; absent for a source.
    index_version: t.Optional[int]


class IndexMoves(t.TypedDict):
    #: Return of the last session, a fraction; null with a single date.
    day_return: t.Optional[float]
    #: Return since the last date of the previous calendar year, or since the first date of the run. A fraction.
    year_to_date: float
    #: Annualised standard deviation of the returns of the last year (252 returns, or 365 if the calendar trades every day), or of all returns if there are fewer. A fraction.
    volatility: float
    #: Last level divided by the first, less 1. A fraction.
    total_return: float
    #: Lowest drawdown, at most 0. A fraction.
    max_drawdown: float
    #: Levels of the last year: every fourth date from the last one on or before the same day one year earlier (or from the first date of the run), and the last date.
    trace: SeriesPayload


class IndexSummary(t.TypedDict):
    #: Id: 1 to 64 letters, digits, dashes and underscores.
    id: str
    #: Display name.
    name: str
    #: Type of the definition: rules, an optimisation, or other indices.
    kind: t.Literal["rule", "derived", "overlay"]
    #: Parent of a derived index, or underlying index of an overlay; null for a blend.
    source_index_id: t.Optional[str]
    #: Exchange MIC from /indices/calendars.
    calendar: str
    #: ISO 4217 code.
    currency: str
    #: Base date: the first rebalance is on the first session on or after this date.
    base_date: str
    #: Data store of the index: its own, or that of an index to which it refers; null for the active store.
    store_id: t.Optional[str]
    #: True if a backtest record is stored.
    has_run: bool
    #: Time of the backtest record.
    run_at: t.Optional[str]
    #: Labels of the document.
    tags: t.Sequence[str]
    #: Documents that the definition names and that are not stored any more, such as a part of a blend.
    problems: t.Sequence[Finding]


class InspectRequest(t.TypedDict, total=False):
    #: Folder, or connection URL of a database, as for a store.
    location: str
    #: File in base64, instead of a location. CSV can also be sent as text.
    content: str
    #: Format of the content, as for an import. `parquet` is one table of prices.
    format: t.Literal["xlsx", "csv.zip", "csv", "parquet"]
    #: Mapping to test, instead of a proposal.
    mapping: t.Optional[MappingInput]
    #: Known answers. The inspection asks no questions about them.
    answers: MappingAnswers
    #: File or table of a dataset, if its name differs from the name of the dataset.
    tables: t.Mapping[str, str]


class InspectResult(t.TypedDict):
    #: Number of files, sheets or tables of the market.
    files: int
    #: Number of bars read with the mapping; 0 if findings prevent it.
    rows_read: int
    #: Proposed mapping, in the form that a store or an import accepts.
    mapping: Mapping
    #: Table of the market, if it has another name in the database.
    tables: t.Mapping[str, str]
    #: Price basis of CLOSE: as traded, divided by later splits, or by splits and dividends.
    adjustment: t.Literal["none", "splits", "total"]
    #: Proposed adjustment, and its reason.
    basis: AdjustmentChoice
    #: `sure`: a vendor was recognised. `likely`: the column names indicate the mapping. `unsure`: a question must be answered.
    confidence: t.Literal["sure", "likely", "unsure"]
    #: Vendor or program that writes tables in this format.
    recognised_as: t.Optional[str]
    #: Questions that the data does not answer.
    questions: t.Sequence[str]
    #: Questions as findings, each at its field.
    unsure: t.Sequence[MappingQuestion]
    #: First bars of the first security, as read with the mapping.
    preview: TableFrame
    #: Findings of a complete reading with the mapping.
    findings: t.Sequence[Finding]
    #: Names of all files, sheets or tables with errors, also of those that `findings` only counts. Empty if not all of them were examined.
    faulty_files: t.Sequence[str]


class InverseVolatilityWeightParams(t.TypedDict, total=False):
    """Weights in proportion to the inverse of annualised volatility. The volatility uses the returns between price bars on consecutive sessions."""

    #: Number of trailing sessions of the volatility. Unit: sessions.
    window: int
    #: A security needs at least this number of returns. Unit: sessions.
    minimum_observations: int


class _InverseVolatilityWeightWeighting(t.TypedDict):
    type: t.Literal["InverseVolatilityWeight"]


class InverseVolatilityWeightWeighting(_InverseVolatilityWeightWeighting, total=False):
    #: Parameters of the type, by name.
    params: InverseVolatilityWeightParams
    #: Maximum weight of a constituent: a number, or an expression such as min(0.09, 3 * weight_in("PARENT")), which is evaluated for each constituent. Default: no maximum. Unit: fraction.
    cap: t.Optional[t.Union[float, str, DatapointInput, ExpressionNodeInput]]
    #: Minimum weight of a security. Default: no minimum. Unit: fraction.
    floor: t.Optional[float]
    #: Maximum weights of groups.
    group_caps: t.Sequence[GroupCapInput]
    #: Reference column, such as ISSUER. `cap` and `ladder_caps` then limit the weight of each group of this column instead of each constituent. A constituent without a value is a separate group.
    cap_by: str
    #: Caps that apply if a limit is exceeded: first caps of single weights, then a cap of the total of large weights.
    ladder_caps: LadderCaps
    #: Datapoint that multiplies the raw weights. Its changes are phased in over several reviews.
    phase_in: PhaseInInput


class JobAttempt(t.TypedDict):
    #: Number of the attempt, from 1.
    attempt: int
    #: Process of the attempt, as listed by `divisor nodes`; null if a single process uses a home.
    node: t.Optional[str]
    #: Start of the attempt.
    started_at: str
    #: Time of the last heartbeat of the attempt.
    heartbeat_at: t.Optional[str]
    #: End of the attempt; null while it runs.
    ended_at: t.Optional[str]
    #: `crashed`: its thread ended. `lost`: its process ended, did not send heartbeats or was disconnected. `released`: the job was returned to the queue. The setting job-retries limits the number of each outcome. Null while the attempt runs.
    end: t.Optional[t.Literal["succeeded", "failed", "cancelled", "crashed", "lost", "released"]]
    #: Reason why the attempt crashed, was lost, was released or failed.
    reason: t.Optional[str]


class JobCallback(t.TypedDict):
    #: Header webhook-id of the message, the same in every attempt.
    delivery_id: str
    #: Address of the receiver.
    url: str
    #: State of the delivery: `waiting` until the job ends, then `due` until the receiver accepts the message. The final state is `delivered`, or `failed` after the last attempt.
    state: t.Literal["waiting", "due", "delivered", "failed"]
    #: Number of attempts.
    attempts: int
    #: Time of the last attempt.
    last_attempt_at: t.Optional[str]
    #: Reason why the last attempt failed; null if it succeeded.
    last_error: t.Optional[str]
    #: Time of the next attempt; only while the message is due.
    next_attempt_at: t.Optional[str]


class JobCollection(t.TypedDict):
    #: Jobs, newest first. `result` of every job is null.
    jobs: t.Sequence[JobStatus]
    #: Number of stored documents that are omitted because they cannot be read.
    skipped: int
    #: Number of omitted documents by cause.
    skipped_causes: SkippedCauses


class JobKindList(t.TypedDict):
    #: Kinds of jobs, in a fixed order.
    kinds: t.Sequence[JobKindState]


class JobKindPause(t.TypedDict, total=False):
    #: Reason, which is shown with the kind.
    reason: t.Optional[str]


class JobKindStatePause(t.TypedDict):
    #: Time of the pause, ISO-8601 UTC with offset.
    paused_at: str
    #: Name of the key that paused the kind; `local` without authentication.
    author: str
    #: Reason in the request.
    reason: t.Optional[str]


class JobKindState(t.TypedDict):
    """A kind of job."""

    #: Kind of the object.
    kind: t.Literal["backtest", "optimise", "render", "risk", "validate", "sync", "load", "refresh", "generate", "sweep", "batch", "account", "rerun", "study", "simulate", "replay", "diff", "differences"]
    #: Queue of the kind. Jobs of the light lane run in parallel to jobs of the heavy lane.
    lane: t.Literal["heavy", "light"]
    #: Pause of the kind; null if it is not paused.
    pause: t.Optional[JobKindStatePause]


class JobRetriesRefused(t.TypedDict):
    #: {kind}:{id}, for example backtest:LARGE-100.
    job_id: str
    #: Stable error code for programs.
    code: str
    #: Message in one sentence.
    message: str


class JobRetries(t.TypedDict):
    #: Jobs that were queued again, newest first.
    retried: t.Sequence[str]
    #: Failed jobs that were not queued again, with the reason.
    refused: t.Sequence[JobRetriesRefused]
    #: False if more failed jobs match than the limit.
    is_complete: bool


class JobRetryRequest(t.TypedDict, total=False):
    #: Kinds of jobs. Default: all kinds.
    kinds: t.Sequence[t.Literal["backtest", "optimise", "render", "risk", "validate", "sync", "load", "refresh", "generate", "sweep", "batch", "account", "rerun", "study", "simulate", "replay", "diff", "differences"]]
    #: Ids of jobs. Only failed jobs are queued again. Default: all failed jobs.
    job_ids: t.Sequence[str]
    #: Only jobs that failed at or after this time, with an offset. Default: no limit.
    since: str
    #: Maximum number of jobs, newest first.
    limit: int


class JobStatus(t.TypedDict):
    """A job of any kind."""

    #: {kind}:{id}, for example backtest:LARGE-100.
    job_id: str
    #: Kind of the object.
    kind: t.Literal["backtest", "optimise", "render", "risk", "validate", "sync", "load", "refresh", "generate", "sweep", "batch", "account", "rerun", "study", "simulate", "replay", "diff", "differences"]
    #: Order in which waiting jobs start.
    priority: t.Literal["high", "normal", "low"]
    #: pending -> running -> succeeded, failed or cancelled. Terminal states never change.
    status: t.Literal["pending", "running", "succeeded", "failed", "cancelled"]
    #: Completed fraction: 0 while pending, exactly 1 after success. It never decreases during an attempt.
    progress: float
    #: Current step.
    message: str
    #: Error of the job; only if it failed.
    error: t.Optional[ErrorDetail]
    #: Time of the submission, ISO-8601 UTC with offset.
    created_at: str
    #: Start of the current attempt.
    started_at: t.Optional[str]
    #: Time of the end, ISO-8601 UTC with offset; null while it has not ended.
    finished_at: t.Optional[str]
    #: Time of the last heartbeat of the running attempt.
    heartbeat_at: t.Optional[str]
    #: Number of starts, which is recorded before the work starts.
    attempt: int
    #: Latest attempts in order, at most eleven. The last one is the current attempt.
    attempts: t.Sequence[JobAttempt]
    #: Request body as it was accepted.
    request: t.Any
    #: SHA-256 of all inputs except the market.
    input_hash: str
    #: X-Request-Id of the submission, which log lines of the job contain. Null if the service submitted the job.
    request_id: t.Optional[str]
    #: Trace of the submission, from its header traceparent.
    trace_id: t.Optional[str]
    #: Addresses that are notified when the job ends.
    callbacks: t.Sequence[JobCallback]
    #: Result of the job; only if it succeeded. Its schema depends on the kind.
    result: t.Any


class Judgement(t.TypedDict):
    """Decision of a person about a day of a schedule."""

    #: Number, from 1 without gaps, counted by schedule.
    seq: int
    #: Time of the decision, ISO-8601 UTC with offset.
    at: str
    #: Name of the key; `local` without authentication.
    author: str
    #: Id of the key; null without authentication.
    key_id: t.Optional[str]
    #: Decision.
    action: t.Literal["run", "backfill", "skip", "waive"]
    #: The schedule.
    schedule_id: str
    #: Session of the decision; for a backfill, the first session.
    date: str
    #: Last session of a backfill; null for other decisions and for backfills of earlier versions.
    last_date: t.Optional[str]
    #: Number of sessions of the decision; null for decisions of earlier versions.
    sessions: t.Optional[int]
    #: Indices of the decision, in the order of the schedule; empty for decisions of earlier versions.
    indices: t.Sequence[str]
    #: Index of a waiver; null for every index.
    index_id: t.Optional[str]
    #: Check that was waived; null for other decisions.
    check: t.Optional[str]
    #: Security of a waiver; null for every finding of the check.
    identifier: t.Optional[str]
    #: Findings that a waiver accepted; at most 200.
    findings: t.Sequence[AcceptedFinding]
    #: Approval of the decision; null if it needed none.
    approval_id: t.Optional[int]
    #: Names of the people who approved the decision.
    approved_by: t.Sequence[str]
    #: Why.
    reason: t.Optional[str]


class Judgements(t.TypedDict):
    #: Newest first.
    judgements: t.Sequence[Judgement]


class LadderCaps(t.TypedDict, total=False):
    #: First stage.
    single: SingleLadder
    #: Second stage.
    group: GroupLadder


class LaneHealth(t.TypedDict):
    """Load of a queue, for scaling the workers."""

    #: Jobs that wait for a slot.
    waiting: int
    #: Running jobs.
    running: int
    #: Maximum number of running jobs on all nodes.
    places: int
    #: Waiting time of the oldest job in seconds; null if no job waits.
    oldest_wait_seconds: t.Optional[float]


class LevelChange(t.TypedDict):
    #: The date.
    date: str
    #: Level.
    variant: t.Literal["price", "total", "net"]
    #: Index points.
    published: float
    #: Level of the run in index points.
    run: float
    #: Level of the run less published level, in index points.
    change: float
    #: Change relative to the published level, in basis points.
    change_bps: float


class LevelSketch(t.TypedDict):
    #: Levels of some sessions of the last three years of the served store, beginning with the base value. Rules that use the previous composition, such as buffers, start with no constituents.
    level: SeriesPayload
    #: Annualised volatility of the level over the 60 sessions up to each session, as a fraction; null before 60 returns.
    volatility: SeriesPayload
    #: Fraction in the underlying index after each close; null for an index without a target exposure.
    exposure: t.Optional[SeriesPayload]


class LevelSketchRequest(t.TypedDict):
    #: The definition.
    document: IndexDocumentBody


class LevelsView(t.TypedDict):
    #: Version of the index or strategy; null for runs that were stored before versions existed.
    index_version: t.Optional[int]
    #: Data store on which the run was computed; null for runs that were stored without it.
    store_id: t.Optional[str]
    #: Causes why the run is stale; null if the stored run equals a new run of the request.
    stale: t.Optional[StaleState]
    #: The index, or the strategy of a run.
    index_id: str
    #: Return variant.
    variant: t.Literal["price", "total", "net"]
    #: The levels.
    levels: SeriesPayload
    #: Market value divided by level.
    divisor: SeriesPayload


class _LeverageOverlay(t.TypedDict):
    type: t.Literal["leverage"]
    #: Multiple of the daily return. A negative multiple is inverse.
    factor: float
    #: Series of the store with the interest rate of borrowings and cash, in percent per year; null for a rate of 0.
    financing: t.Optional[str]
    #: Spread over the rate, in basis points per year.
    spread_bps: float
    #: Number of days per year.
    basis: t.Union[t.Literal[360], t.Literal[365]]


class LeverageOverlay(_LeverageOverlay, total=False):
    """A multiple of the daily return, reset every session. A negative multiple is inverse."""

    #: Cost of changes of exposure at the close, in basis points of the traded amount. Default: 0.
    cost_bps: float


class _LeverageOverlayInput(t.TypedDict):
    type: t.Literal["leverage"]
    #: Multiple of the daily return. A negative multiple is inverse.
    factor: float


class LeverageOverlayInput(_LeverageOverlayInput, total=False):
    """A multiple of the daily return, reset every session. A negative multiple is inverse."""

    #: Series of the store with the interest rate of borrowings and cash, in percent per year; null for a rate of 0.
    financing: t.Optional[str]
    #: Spread over the rate, in basis points per year.
    spread_bps: float
    #: Cost of changes of exposure at the close, in basis points of the traded amount. Default: 0.
    cost_bps: float
    #: Number of days per year.
    basis: t.Union[t.Literal[360], t.Literal[365]]


class _LimitBreach(t.TypedDict):
    #: Constraint whose bound is exceeded.
    row: str
    #: First session beyond the bound. It can be before the window.
    begin: str
    #: Last session beyond the bound. Null if the breach continues at the end of the window.
    end: t.Optional[str]
    #: Cause of the breach: price changes, a corporate action or delisting, or the trades of a rebalance.
    cause: t.Literal["price", "action", "rebalance"]
    #: Date with the smallest headroom, with value and bound.
    worst: LimitMeasure


class LimitBreach(_LimitBreach, total=False):
    #: Issuers whose weights form the worst value, largest first. Only for limits of the largest issuers and of issuers above a weight.
    issuers: t.Sequence[LimitIssuer]


class LimitDistance2(t.TypedDict):
    #: Asset identifier.
    identifier: str
    #: Relative change of the price while all other prices are unchanged: 0.1 is +10%.
    move: float


#: Smallest price move of one security that causes a breach on the last date. Null beyond a bound, or if no move causes a breach.
LimitDistance = t.Optional["LimitDistance2"]

class LimitIssuer(t.TypedDict):
    #: Issuer, or the identifier of a security without a known issuer.
    issuer: str
    #: Absolute value of the net weight of the issuer, as a fraction.
    weight: float


class LimitMeasure(t.TypedDict):
    """Value and bound of a constraint on a date."""

    #: The date.
    date: str
    #: Measured value of the constraint.
    value: float
    #: Bound of the constraint on that date.
    limit: float


class _LimitRowSummary(t.TypedDict):
    #: Constraint of the rule, or class, id and side of a requested constraint.
    row: str
    #: Bound of the constraint: lower or upper.
    side: t.Literal["lower", "upper"]
    #: Unit of the figure.
    unit: t.Literal["fraction", "count", "value"]
    #: Number of dates on which the bound is exceeded.
    breached_sessions: int
    #: Date with the smallest headroom, with value and bound.
    least: LimitMeasure
    #: Last date with the constraint, with value and bound.
    latest: LimitMeasure


class LimitRowSummary(_LimitRowSummary, total=False):
    #: Issuers whose weights form the latest value, largest first. Only for limits of the largest issuers and of issuers above a weight.
    issuers: t.Sequence[LimitIssuer]


class LimitState(t.TypedDict):
    #: Dates of the window.
    dates: t.Sequence[str]
    #: Distance to the nearest bound in the unit of the constraint (a fraction for weights). Negative beyond the bound; null if no constraint applies.
    headroom: t.Sequence[t.Optional[float]]
    #: Security with the smallest price move that causes a breach. Null beyond a bound, or if no move of one security causes a breach.
    nearest: t.Sequence[t.Optional[str]]
    #: Smallest relative price move of this security that causes a breach, while all other prices are unchanged.
    move: t.Sequence[t.Optional[float]]


class Limits(t.TypedDict):
    """Limits that apply to clients, each in the unit at the end of its name."""

    #: Rebalance snapshots in a response: 33 years of monthly rebalances.
    MAX_REBALANCES: float
    #: Rows of a table of weights in a response: three years of sessions.
    MAX_WEIGHT_DATES: float
    #: Rows of a table of positions in a response.
    MAX_POSITION_ROWS: float
    #: Sessions per year with which figures are annualised.
    PERIODS_PER_YEAR: float
    #: Sessions per year on calendars that trade every day.
    DAYS_PER_YEAR: float
    #: Days after its date `asof` that a schedule includes.
    SCHEDULE_LOOKAHEAD_DAYS: float
    #: Default number of sessions after which the last price of a security is no longer used.
    MAX_STALE_SESSIONS: float
    #: Minimum number of returns of a security in a covariance estimate.
    MIN_NAME_OBSERVATIONS: float
    #: Minimum number of complete sessions in a covariance estimate.
    MIN_MODEL_OBSERVATIONS: float
    #: Historical scenarios of an objective: twenty years of sessions.
    MAX_SCENARIOS: float
    #: Simulated scenarios of an objective or a constraint.
    MAX_DRAWN_SCENARIOS: float
    #: Securities times simulated scenarios of an objective or a constraint: 400 MB.
    MAX_SCENARIO_VALUES: float
    #: Draws of a resampled frontier. The frontier of one draw takes as long as a frontier.
    MAX_FRONTIER_DRAWS: float
    #: Securities of HierarchicalRiskParityWeight. The distances between the columns of 2000 securities take four seconds.
    MAX_HIERARCHY_SECURITIES: float
    #: Number of trailing returns of the risk model of a derived index.
    DERIVED_RISK_SESSIONS: float
    #: Plug-ins in one index document.
    MAX_PLUGINS: float
    #: Characters of the source of a plug-in.
    MAX_PLUGIN_SOURCE: float
    #: Inputs of a plug-in.
    MAX_PLUGIN_INPUTS: float
    #: Steps of one call of a plug-in (iterations of loops and calls of functions): about a second.
    MAX_PLUGIN_STEPS: float
    #: Memory of a plug-in, including its inputs.
    MAX_PLUGIN_MEMORY_BYTES: float
    #: Body of every route except those that receive data, studies or batches.
    MAX_BODY_BYTES: float
    #: Texts, numbers, lists and objects of a JSON body, except data, studies and batches: the identifiers of 20,000 securities with a number each.
    MAX_BODY_VALUES: float
    #: Texts, numbers, lists and objects of a JSON body that the event loop checks itself. A thread checks larger bodies.
    MAX_DIRECT_VALUES: float
    #: JSON body that the event loop checks itself. A thread checks larger bodies.
    MAX_DIRECT_BYTES: float
    #: Findings of a response, errors first. `detail.more` of a refusal counts the others. Similar names are suggested for the first 20 unknown names.
    MAX_FINDINGS: float
    #: Body of an import.
    MAX_IMPORT_BYTES: float
    #: Body of an import with a table. It is stored on disk, and 4 GiB are 100 million rows of market data.
    MAX_IMPORT_TABLE_BYTES: float
    #: Securities times sessions of a synthetic market: 5000 securities over 25 years.
    MAX_SYNTHETIC_BARS: float
    #: Size of data that is copied when it is activated: 7000 securities x 25 years x 6 columns.
    MAX_COPIED_CONTENT_BYTES: float
    #: Response of an MCP tool: 25,000 tokens of two bytes, as in long numbers and hashes.
    MAX_TOOL_ANSWER_BYTES: float
    #: Response of the MCP tool waitForJob, which contains the figures of a result. Other tools return its series.
    MAX_TOOL_JOB_BYTES: float
    #: Maximum wait of the MCP tool waitForJob. Clients end a call after 60 s.
    MAX_TOOL_WAIT_SECONDS: float
    #: Concurrent MCP requests of one key, which is also the limit for event streams.
    MAX_KEY_TOOL_CALLS: float
    #: MCP resource, which is a single message. Read larger resources over HTTP.
    MAX_RESOURCE_BYTES: float
    #: Nesting levels of a JSON body.
    MAX_JSON_DEPTH: float
    #: Time without a heartbeat after which a running job is queued again.
    HEARTBEAT_TIMEOUT_SECONDS: float
    #: Wall time of one attempt of a job.
    MAX_JOB_SECONDS: float
    #: Time for a cancelled job to release its worker.
    CANCEL_GRACE_SECONDS: float
    #: Indices in one request for backtests, which is also the limit of a listing of jobs.
    MAX_BATCH_IDS: float
    #: Indices and strategies in one request for reruns. Their runs are stored in one transaction.
    MAX_RERUN_IDS: float
    #: Optimisations in one study. Their results are stored in one transaction.
    MAX_STUDY_RUNS: float
    #: Runs in one comparison.
    MAX_COMPARE_IDS: float
    #: Crashes of one job after which the job fails.
    MAX_ATTEMPTS: float
    #: Jobs waiting for a worker.
    MAX_QUEUED_JOBS: float
    #: Waiting jobs of one key.
    MAX_KEY_QUEUED_JOBS: float
    #: Concurrent heavy jobs of one key. If half of the workers is a larger number, it applies instead.
    MAX_KEY_RUNNING_JOBS: float
    #: Sustained requests per second of one key: a tenth of the capacity of one process.
    MAX_KEY_REQUESTS_PER_SECOND: float
    #: Burst of requests of one key after a pause: the requests of ten seconds.
    MAX_KEY_REQUEST_BURST: float
    #: Ended jobs that are stored. The oldest jobs are removed. The service can load this number in less than two seconds at its start.
    MAX_ENDED_JOBS: float
    #: Jobs in one response of the list.
    MAX_LISTED_JOBS: float
    #: Maximum `wait` for the status of a job.
    MAX_WAIT_SECONDS: float
    #: Maximum duration of the event stream of all jobs. A client can then reconnect.
    MAX_STREAM_SECONDS: float
    #: Concurrent streams of job events.
    MAX_EVENT_STREAMS: float
    #: Documents and versions of one key: a hundred thousand versions of 10 KiB.
    MAX_KEY_STORED_BYTES: float
    #: Event streams of one key. A browser opens six connections to a service, and a desk has several screens.
    MAX_KEY_EVENT_STREAMS: float
    #: Connections of one address, except the addresses in `--trusted-proxies`: a quarter of all connections.
    MAX_ADDRESS_CONNECTIONS: float
    #: Concurrent exports. Each export uses 4 MiB.
    MAX_OPEN_EXPORTS: float
    #: Time until a request without an upload receives a response: its longest wait, a computation and half a minute.
    MAX_REQUEST_SECONDS: float
    #: Time without progress after which a response is aborted, because its client does not read it.
    MAX_IDLE_WRITE_SECONDS: float
    #: Wall time of an immediate computation (previews, what-if).
    MAX_QUERY_SECONDS: float
    #: Wall time of an SQL query.
    MAX_SQL_SECONDS: float
    #: Rows of the result of an SQL query. Further rows are omitted, and the response reports this.
    MAX_SQL_ROWS: float
    #: Result of an SQL query: a million rows of thirty numbers.
    MAX_SQL_BYTES: float
    #: Runs that an SQL query reads. The tables of this number of runs can be prepared in half a minute.
    MAX_SQL_RUNS: float
    #: Tables of runs that are kept on disk for the next SQL query.
    MAX_SQL_INPUT_BYTES: float
    #: Results of SQL queries that a key has not read yet. A query of the key waits until a result of the maximum size fits: two results.
    MAX_SQL_UNREAD_BYTES: float
    #: Time after which an SQL query pauses if a key that runs no query waits for its place.
    MAX_SQL_TURN_SECONDS: float
    #: Characters of an SQL query.
    MAX_SQL_LENGTH: float
    #: Sessions of a simulated path: ten years.
    MAX_SIMULATION_SESSIONS: float
    #: Paths of a simulation. 28 bytes of each path are stored until the simulation ends.
    MAX_SIMULATION_PATHS: float
    #: Variants of a sweep: an hour of two workers at 70 ms each.
    MAX_SWEEP_VARIANTS: float
    #: Variants of a sweep in a list of patches. More variants need a grid.
    MAX_SWEEP_PATCHES: float
    #: Variants of a sweep times sessions. 3.6 GB of levels are stored on disk until the sweep ends.
    MAX_SWEEP_LEVELS: float
    #: Rows in the result of a sweep, beginning with the best. All rows are available in blocks.
    MAX_SWEEP_RESULT_ROWS: float
    #: Accounts of a batch: an hour of two workers at 70 ms each.
    MAX_BATCH_ACCOUNTS: float
    #: Accounts of a batch as JSON: 4 million lots.
    MAX_BATCH_BYTES: float
    #: Accounts of a batch as lines or a table, which are stored until the batch ends: 100,000 accounts with 8,000 lots.
    MAX_BATCH_UPLOAD_BYTES: float
    #: Values of the accounts of a batch as JSON: 4 million lots of six values.
    MAX_BATCH_VALUES: float
    #: Runs of a study as JSON: 3 kB for each of 10,000 runs.
    MAX_STUDY_BYTES: float
    #: Values of the runs of a study as JSON: a hundred for each of 10,000 runs.
    MAX_STUDY_VALUES: float
    #: Lots of one account.
    MAX_ACCOUNT_LOTS: float
    #: Rows of a block of a result.
    MAX_BLOCK_ROWS: float
    #: Splits of time in an out-of-sample test.
    MAX_SWEEP_SPLITS: float
    #: Callbacks of one job, from all clients that request the same job.
    MAX_JOB_CALLBACKS: float
    #: Callbacks that wait for their delivery: one for each waiting job.
    MAX_WAITING_CALLBACKS: float
    #: Attempts to deliver one callback: five hours without a response.
    MAX_CALLBACK_ATTEMPTS: float
    #: Time within which a receiver must respond.
    MAX_CALLBACK_SECONDS: float
    #: Attempts to deliver a file in one attempt of a day of a schedule.
    MAX_DELIVERY_TRIES: float
    #: Attempts of a day in which a file is delivered to a target: eight hours with the default pause.
    MAX_DELIVERY_ROUNDS: float
    #: Time to send one file to a target.
    MAX_DELIVERY_SECONDS: float
    #: Files of one mail: 20 MB after encoding.
    MAX_MAIL_BYTES: float
    #: Depth of an expression tree.
    MAX_EXPRESSION_DEPTH: float
    #: Nodes of an expression tree.
    MAX_EXPRESSION_NODES: float
    #: Fields and constants of an expression tree: four per node.
    MAX_EXPRESSION_LEAVES: float
    #: Characters of an expression as text: sixteen per node.
    MAX_EXPRESSION_LENGTH: float
    #: Datapoints that an expression reads, each with its lag and window, including its definitions: four per leaf.
    MAX_EXPRESSION_READS: float
    #: Characters of all expressions of a document as text: four of the longest. A node counts as sixteen characters.
    MAX_EXPRESSIONS_LENGTH: float
    #: Rules, constraints, reviews and datapoints of an index times its amendments, because each version is checked.
    MAX_AMENDED_ROWS: float
    #: Datapoints that a document defines: one per selection rule.
    MAX_DATAPOINTS: float
    #: Securities of an estimated risk model: a matrix of 1.6 GB.
    MAX_RISK_SECURITIES: float
    #: Dates of an imported risk model: fifty years of months.
    MAX_MODEL_DATES: float
    #: Securities of an imported risk model: a matrix of 72 MB, and its eigenvalues.
    MAX_MODEL_SECURITIES: float
    #: Factors of an imported risk model.
    MAX_MODEL_FACTORS: float
    #: Covariances of an imported risk model over all of its dates: 400 MB.
    MAX_MODEL_NUMBERS: float
    #: Blocks of a report template.
    MAX_REPORT_BLOCKS: float
    #: Pages of a rendered report.
    MAX_REPORT_PAGES: float
    #: Points drawn in one chart: four for every half point of an A3 page's width.
    MAX_REPORT_POINTS: float
    #: Wall time of one rendering.
    MAX_RENDER_SECONDS: float


class LimitsCheck(t.TypedDict):
    """The closing composition satisfies limits of concentration and of the number of constituents."""

    check: t.Literal["limits"]
    #: Findings block the index (block), or are only reported (warn). Default: warn.
    severity: t.Literal["block", "warn"]
    #: Published rule of concentration.
    rule: t.Optional[t.Literal["UCITS_5_10_40", "UCITS_20_35", "RIC_25_5_50", "SEC_75_5_10"]]
    #: Largest weight of a security.
    maximum_weight: t.Optional[float]
    #: Minimum number of constituents.
    minimum: t.Optional[int]
    #: Maximum number of constituents.
    maximum: t.Optional[int]


class _LimitsCheckInput(t.TypedDict):
    check: t.Literal["limits"]


class LimitsCheckInput(_LimitsCheckInput, total=False):
    """The closing composition satisfies limits of concentration and of the number of constituents."""

    #: Findings block the index (block), or are only reported (warn). Default: warn.
    severity: t.Literal["block", "warn"]
    #: Published rule of concentration.
    rule: t.Optional[t.Literal["UCITS_5_10_40", "UCITS_20_35", "RIC_25_5_50", "SEC_75_5_10"]]
    #: Largest weight of a security.
    maximum_weight: t.Optional[float]
    #: Minimum number of constituents.
    minimum: t.Optional[int]
    #: Maximum number of constituents.
    maximum: t.Optional[int]


class LimitsRequest(t.TypedDict):
    #: Constraints on holdings, as for the optimiser: bounds of securities and groups, concentration, counts, exposures and averages.
    rows: t.Sequence[ConstraintRowInput]


class LimitsView(t.TypedDict):
    #: Version of the index or strategy; null for runs that were stored before versions existed.
    index_version: t.Optional[int]
    #: Data store on which the run was computed; null for runs that were stored without it.
    store_id: t.Optional[str]
    #: Causes why the run is stale; null if the stored run equals a new run of the request.
    stale: t.Optional[StaleState]
    #: The index, or the strategy of a run.
    index_id: str
    #: Published rule; null for constraints of the request.
    rule: t.Optional[t.Literal["UCITS_5_10_40", "UCITS_20_35", "RIC_25_5_50", "SEC_75_5_10"]]
    #: Reference column with the issuers, as known on each date. With IDENTIFIER, each security is a separate issuer.
    by: str
    #: Number of dates of the run in the window.
    sessions: int
    #: Number of dates on which a constraint is beyond its bound.
    breached_sessions: int
    #: Nearest bound on each date.
    state: LimitState
    #: Constraints over the window; the first 500.
    rows: t.Sequence[LimitRowSummary]
    #: Number of constraints.
    rows_total: int
    #: The first 10,000 breaches, sorted by their first session.
    breaches: t.Sequence[LimitBreach]
    #: Number of breaches.
    breaches_total: int
    #: Nearest breach that a price move of one security causes; null beyond a bound, or if no move causes a breach.
    distance: LimitDistance
    #: Findings, most severe first.
    findings: t.Sequence[Finding]


class _LinearConstraintParams(t.TypedDict):
    #: Coefficient of each security.
    coefficients: t.Mapping[str, float]


class LinearConstraintParams(_LinearConstraintParams, total=False):
    """A weighted sum of weights is between two bounds. Securities without a coefficient have the coefficient 0."""

    #: Smallest sum.
    lower: t.Optional[float]
    #: Largest sum.
    upper: t.Optional[float]
    #: Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated.
    soft: t.Optional[float]
    #: Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy.
    priority: int


class _LinearConstraintRow(t.TypedDict):
    type: t.Literal["LinearConstraint"]


class LinearConstraintRow(_LinearConstraintRow, total=False):
    #: Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position.
    id: str
    #: Parameters of the type, by name.
    params: LinearConstraintParams


class _LiquidityFilterParams(t.TypedDict):
    #: Minimum daily traded value. Unit: money per day in index currency.
    minimum: float


class LiquidityFilterParams(_LiquidityFilterParams, total=False):
    """Keeps securities with a minimum daily traded value. A separate minimum can apply to constituents."""

    #: Number of trailing sessions of the calendar up to the decision date. Sessions without a price bar have no value. Unit: sessions.
    window: int
    #: Aggregate of the daily values.
    statistic: t.Literal["median", "mean"]
    #: Minimum daily traded value of a constituent. Default: same as for other securities. Unit: money per day in index currency.
    incumbent_minimum: t.Optional[float]
    #: Treatment of a security without a value of the datapoint. In a ranking, an included security without a value is last.
    missing: t.Literal["exclude", "include"]


class _LiquidityFilterRule(t.TypedDict):
    #: Id of the rule, unique within the pipeline.
    id: str
    type: t.Literal["LiquidityFilter"]


class LiquidityFilterRule(_LiquidityFilterRule, total=False):
    #: Parameters of the type, by name.
    params: LiquidityFilterParams
    #: Parameters that are tried, in order, if the rule keeps too few securities.
    fallback: t.Sequence[RuleFallback]


class _LiquidityParams(t.TypedDict):
    #: Size of the portfolio, in the index currency. Unit: money.
    notional: float


class LiquidityParams(_LiquidityParams, total=False):
    """No trade from the previous solved weights exceeds a fraction of the median value traded over a number of sessions. A security without a known value traded is not traded."""

    #: Maximum fraction of the value traded. Unit: fraction.
    participation: float
    #: Maximum number of days for a trade. Unit: days.
    days: float
    #: Number of trailing sessions of the median. Unit: sessions.
    window: int
    #: Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated.
    soft: t.Optional[float]
    #: Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy.
    priority: int


class _LiquidityRow(t.TypedDict):
    type: t.Literal["Liquidity"]


class LiquidityRow(_LiquidityRow, total=False):
    #: Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position.
    id: str
    #: Parameters of the type, by name.
    params: LiquidityParams


class ListedClientLatestDelivery(t.TypedDict):
    #: Schedule of the day.
    schedule_id: str
    #: Session.
    date: str
    #: Number of files of the day, counted separately for each target.
    files: int
    #: Number of delivered files.
    delivered: int


class ListedClient(t.TypedDict):
    #: Display name.
    name: str
    #: Free text.
    description: t.Optional[str]
    #: True if files are delivered.
    enabled: bool
    #: Files that the client can receive. A file must be covered by one entry. An empty list covers no files.
    entitlements: t.Sequence[Entitlement]
    #: Targets to which files are delivered.
    targets: t.Sequence[t.Union[FolderTarget, BucketTarget, SftpTarget, CallbackTarget, MailTarget]]
    #: The client.
    client_id: str
    #: Time of the last change, ISO-8601 UTC with offset.
    updated_at: str
    #: Names of the targets with a stored secret.
    secrets: t.Sequence[str]
    #: Reasons why the service does not permit targets of the stored client. Such a client is disabled until it is stored again, or until the settings permit its targets.
    problems: t.Sequence[str]
    #: Latest session with files for the client; null if there is none.
    latest_delivery: t.Optional[ListedClientLatestDelivery]


class ListedDeskAction(t.TypedDict):
    #: Asset identifier.
    identifier: str
    #: Type of the action.
    type: t.Literal["DIVIDEND", "SPECIAL_DIVIDEND", "RETURN_OF_CAPITAL", "SPLIT", "STOCK_DIVIDEND", "BONUS_ISSUE", "RIGHTS_ISSUE", "SPIN_OFF", "MERGER", "ACQUISITION", "DELISTING", "TICKER_CHANGE"]
    #: First day without the entitlement.
    ex_date: str
    #: Value as in the store: an amount per share, a multiplier or a ratio, depending on the type.
    value: float
    #: Null: unknown.
    pay_date: t.Optional[str]
    #: Other identifier of a spin-off, merger or ticker change.
    related: t.Optional[str]
    #: Price of a new share in a rights issue.
    subscription_price: t.Optional[float]
    #: Cash that a merger pays per share in addition to shares.
    cash: t.Optional[float]
    #: Id of the action, derived from its store, security, type, ex-date and related security.
    action_id: str
    #: Null: unknown.
    status: t.Optional[t.Literal["announced", "paid", "cancelled"]]
    #: Day of the announcement.
    announced: t.Optional[str]
    #: `new`: no decision yet. `amended`: the terms in the store have changed since they were confirmed or rejected.
    state: t.Literal["new", "confirmed", "rejected", "amended"]
    #: Reasons to review the action, and differences from other sources.
    flags: t.Sequence[str]
    #: Decisions of people, earliest first.
    decisions: t.Sequence[ActionDecision]
    #: Indices that hold the security according to their newest runs, those with the largest weights first. Null if `indices` was not requested, or if the listed period contains more than 2,000 actions.
    indices: t.Optional[t.Sequence[AffectedIndex]]


class ListedPluginInputs(t.TypedDict):
    #: Numeric expression, such as `max(CLOSE, window=252)`.
    expression: str
    #: Number of trailing sessions up to the decision date. Each session has one value of the expression.
    sessions: int


class ListedPluginParameters(t.TypedDict):
    #: Default value.
    default: t.Union[float, str, bool]
    #: Least.
    minimum: t.Optional[float]
    #: Greatest.
    maximum: t.Optional[float]
    #: Description in one or two sentences.
    help: t.Optional[str]


class ListedPlugin(t.TypedDict):
    #: The plug-in.
    plugin_id: str
    #: Display name.
    name: str
    #: Free text.
    description: t.Optional[str]
    #: Kind of the plug-in. `datapoint`: the values are numbers. `selection`: 0 or false excludes a security. `weighting`: the values are raw weights.
    kind: t.Literal["datapoint", "selection", "weighting"]
    #: Columns that the plug-in reads, by name.
    inputs: t.Mapping[str, ListedPluginInputs]
    #: Parameters of the class in the order of a form.
    parameters: t.Mapping[str, ListedPluginParameters]
    #: JavaScript that defines `compute(inputs, parameters, count)`. It returns a list of `count` values, one for each security. The functions of `rows` compute on whole windows, faster than loops.
    source: str
    #: SHA-256 of the plug-in, which is part of every run that it computes.
    sha256: str
    #: Time of the last change, ISO-8601 UTC with offset.
    updated_at: str
    #: Ids of the indices whose definition uses the plug-in.
    used_by: t.Sequence[str]


class ListedSchedule(t.TypedDict):
    #: Display name.
    name: str
    #: Free text.
    description: t.Optional[str]
    #: True if days start automatically.
    enabled: bool
    #: Indices of the family, in any order. Parents are computed before the indices that depend on them.
    indices: t.Sequence[str]
    #: Exchange whose sessions are the days of the schedule.
    calendar: str
    #: Local time at which the day of a session starts.
    at: str
    #: Number of days after the session. With 1, the day starts on the next calendar day.
    day_offset: int
    #: Time zone of the IANA database. Default: the time zone of the calendar.
    time_zone: t.Optional[str]
    #: Number of minutes from the start to the deadline of a day. A day that ends after its deadline is late.
    deadline_minutes: t.Optional[int]
    #: Minutes until the next attempt of a day that is waiting or blocked.
    retry_minutes: int
    #: Number of sessions that are performed after an outage. Earlier sessions are recorded as missed.
    catch_up: int
    #: Number of days after the end of a day for which the service keeps its files; null keeps them permanently.
    keep_files_days: t.Optional[int]
    #: Effect of a failed or blocked index: the index and the indices that depend on it are held back (continue), or the whole family is held back (stop).
    on_failure: t.Literal["continue", "stop"]
    #: Steps of a day, in order.
    steps: t.Sequence[t.Union[RefreshStep, ChecksStep, RunStep, CompareStep, PublishStep, ExportStep, RenderStep, DeliverStep]]
    #: First session.
    starts_on: str
    #: The schedule.
    schedule_id: str
    #: Time of the last change, ISO-8601 UTC with offset.
    updated_at: str
    #: Latest days of the schedule and its next day; null without `days`.
    latest: t.Optional[ScheduleDays]


class LiteralTable(t.TypedDict):
    """Table in the "split" format of pandas."""

    #: Labels of the rows.
    index: t.Sequence[t.Union[str, int]]
    #: Labels of the columns.
    columns: t.Sequence[str]
    #: Rows of cells.
    data: t.Sequence[t.Sequence[t.Optional[t.Union[str, float, bool]]]]


class Liveness(t.TypedDict):
    status: t.Literal["live"]


class LoadJobStatus(t.TypedDict):
    #: {kind}:{id}, for example backtest:LARGE-100.
    job_id: str
    kind: t.Literal["load"]
    #: Order in which waiting jobs start.
    priority: t.Literal["high", "normal", "low"]
    #: pending -> running -> succeeded, failed or cancelled. Terminal states never change.
    status: t.Literal["pending", "running", "succeeded", "failed", "cancelled"]
    #: Completed fraction: 0 while pending, exactly 1 after success. It never decreases during an attempt.
    progress: float
    #: Current step.
    message: str
    #: Error of the job; only if it failed.
    error: t.Optional[ErrorDetail]
    #: Time of the submission, ISO-8601 UTC with offset.
    created_at: str
    #: Start of the current attempt.
    started_at: t.Optional[str]
    #: Time of the end, ISO-8601 UTC with offset; null while it has not ended.
    finished_at: t.Optional[str]
    #: Time of the last heartbeat of the running attempt.
    heartbeat_at: t.Optional[str]
    #: Number of starts, which is recorded before the work starts.
    attempt: int
    #: Latest attempts in order, at most eleven. The last one is the current attempt.
    attempts: t.Sequence[JobAttempt]
    #: Request body as it was accepted.
    request: t.Any
    #: SHA-256 of all inputs except the market.
    input_hash: str
    #: X-Request-Id of the submission, which log lines of the job contain. Null if the service submitted the job.
    request_id: t.Optional[str]
    #: Trace of the submission, from its header traceparent.
    trace_id: t.Optional[str]
    #: Addresses that are notified when the job ends.
    callbacks: t.Sequence[JobCallback]
    #: Result of the job, if it succeeded. Null if the run of a backtest was deleted.
    result: t.Optional[DataStore]


class LongOnlyParams(t.TypedDict, total=False):
    """No weight is negative. This constraint is present by default. Position bounds with a negative lower bound remove it for their securities."""

    #: Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated.
    soft: t.Optional[float]
    #: Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy.
    priority: int


class _LongOnlyRow(t.TypedDict):
    type: t.Literal["LongOnly"]


class LongOnlyRow(_LongOnlyRow, total=False):
    #: Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position.
    id: str
    #: Parameters of the type, by name.
    params: LongOnlyParams


class MadeFile(t.TypedDict):
    #: Name of the file.
    name: str
    #: Size in bytes.
    bytes: int
    #: SHA-256 of its bytes.
    sha256: str


class MailTarget(t.TypedDict):
    type: t.Literal["mail"]
    #: Name of the target, unique among the targets of the client.
    name: str
    #: Tables whose files are sent. Default: reports.
    tables: t.Optional[t.Sequence[str]]
    #: Recipients.
    to: t.Sequence[str]
    #: Subject with {client}, {schedule} and {date:YYYY-MM-DD}.
    subject: str


class _MailTargetInput(t.TypedDict):
    type: t.Literal["mail"]
    #: Name of the target, unique among the targets of the client.
    name: str
    #: Recipients.
    to: t.Sequence[str]


class MailTargetInput(_MailTargetInput, total=False):
    #: Tables whose files are sent. Default: reports.
    tables: t.Optional[t.Sequence[str]]
    #: Subject with {client}, {schedule} and {date:YYYY-MM-DD}.
    subject: str


class Mapping(t.TypedDict):
    """Mapping of tables in their original format to a market. Columns that are not mapped are read by name."""

    #: `long`: one row per security and date; `wide`: one row per date and one column per security.
    layout: t.Literal["long", "wide"]
    #: Number of rows before the header of each table, without empty rows.
    skip_rows: int
    #: Encoding of text files without a byte order mark. Null: UTF-8.
    encoding: t.Optional[t.Literal["utf-8", "windows-1252", "windows-1250", "utf-16le", "utf-16be"]]
    #: For `wide`: field of the numbers. Null: the columns also state the field, in two header rows or as ("Close", "AAPL") in Parquet.
    field: t.Optional[str]
    #: For `wide` with one table per field: field of each file, sheet or table. Other tables are not read.
    fields: t.Mapping[str, str]
    #: Column of the date, the identifier and each datapoint, if it has another name. An empty text refers to the column without a name. Text files without a header: positions, such as #1, for all columns that are read.
    columns: t.Mapping[str, str]
    #: Source of the identifier: a column (also null), the name of the file or sheet (file:; other files are not read), or a label above the header (heading:Security).
    identifier_from: t.Optional[str]
    #: Date format; null is YYYY-MM-DD. A pattern of YYYY, YY, MMM, MM, M, DD and D, or one of epoch_s, epoch_ms, epoch_us, epoch_ns, excel (serial dates of Excel, such as 45293). Names of months may be in English, German, French, Spanish, Italian, Dutch or Portuguese. The time of day of a date without a time zone is ignored.
    date_format: t.Optional[str]
    #: Time zone of the days if the dates are instants in UTC: a zone such as Asia/Tokyo or +09:00, or the code of a calendar, such as XTKS. Null: the zone of the reference column EXCHANGE. Dates without a zone or with an offset are the days that they show.
    time_zone: t.Optional[str]
    #: Decimal separator. If it is a comma, points, apostrophes and spaces between thousands are ignored.
    decimal: t.Literal[".", ","]
    #: Thousands separator for numbers with a decimal point: 1,234.5. If it equals the decimal separator, it applies only to VOLUME and SHARES_OUTSTANDING, as in 58,490 next to 14,82. Null: none.
    thousands: t.Optional[t.Literal[",", ".", "'", " "]]
    #: Treatment of currency signs ($14.82) and of K, M, B or T after a number (59.83M): refused, or read.
    units: t.Literal["refuse", "read"]
    #: Divisor of OPEN, HIGH, LOW, CLOSE and adjusted closes, for prices in fixed point: 1e9 for whole numbers of 1e-9.
    price_divisor: float
    #: Treatment of a second row of one security and date: refused, accepted if all values are equal, ignored, or used instead of the first row.
    on_duplicate: t.Literal["refuse", "identical", "first", "last"]
    #: Treatment of a price of 0: refused, or read as a missing price.
    zero_prices: t.Literal["refuse", "missing"]
    #: Treatment of a negative price: refused, or read as its absolute value. CRSP marks the mean of bid and ask in this way.
    negative_prices: t.Literal["refuse", "absolute"]
    #: Column of closes adjusted for dividends, and for splits if CLOSE is not adjusted for them. Cash dividends, and these splits, are derived from it. The column is then not a datapoint.
    adjusted_close: t.Optional[str]
    #: Source of cash dividends if the table has a column of dividends, such as Dividends or divCash: `adjusted_close` or that column. `column` also reads splits, if CLOSE is as traded and the table has a column of splits. With both sources, each difference is a finding.
    dividends_from: t.Literal["adjusted_close", "column"]
    #: Columns, files and sheets that are ignored.
    ignore: t.Sequence[str]


class MappingAnswers(t.TypedDict, total=False):
    """Known members of the mapping, and the adjustment. The inspection asks no questions about them."""

    #: `long`: one row per security and date; `wide`: one row per date and one column per security.
    layout: t.Literal["long", "wide"]
    #: Number of rows before the header of each table, without empty rows.
    skip_rows: int
    #: Encoding of text files without a byte order mark. Null: UTF-8.
    encoding: t.Optional[t.Literal["utf-8", "windows-1252", "windows-1250", "utf-16le", "utf-16be"]]
    #: For `wide`: field of the numbers. Null: the columns also state the field, in two header rows or as ("Close", "AAPL") in Parquet.
    field: t.Optional[str]
    #: For `wide` with one table per field: field of each file, sheet or table. Other tables are not read.
    fields: t.Mapping[str, str]
    #: Column of the date, the identifier and each datapoint, if it has another name. An empty text refers to the column without a name. Text files without a header: positions, such as #1, for all columns that are read.
    columns: t.Mapping[str, str]
    #: Source of the identifier: a column (also null), the name of the file or sheet (file:; other files are not read), or a label above the header (heading:Security).
    identifier_from: t.Optional[str]
    #: Date format; null is YYYY-MM-DD. A pattern of YYYY, YY, MMM, MM, M, DD and D, or one of epoch_s, epoch_ms, epoch_us, epoch_ns, excel (serial dates of Excel, such as 45293). Names of months may be in English, German, French, Spanish, Italian, Dutch or Portuguese. The time of day of a date without a time zone is ignored.
    date_format: t.Optional[str]
    #: Time zone of the days if the dates are instants in UTC: a zone such as Asia/Tokyo or +09:00, or the code of a calendar, such as XTKS. Null: the zone of the reference column EXCHANGE. Dates without a zone or with an offset are the days that they show.
    time_zone: t.Optional[str]
    #: Decimal separator. If it is a comma, points, apostrophes and spaces between thousands are ignored.
    decimal: t.Literal[".", ","]
    #: Thousands separator for numbers with a decimal point: 1,234.5. If it equals the decimal separator, it applies only to VOLUME and SHARES_OUTSTANDING, as in 58,490 next to 14,82. Null: none.
    thousands: t.Optional[t.Literal[",", ".", "'", " "]]
    #: Treatment of currency signs ($14.82) and of K, M, B or T after a number (59.83M): refused, or read.
    units: t.Literal["refuse", "read"]
    #: Divisor of OPEN, HIGH, LOW, CLOSE and adjusted closes, for prices in fixed point: 1e9 for whole numbers of 1e-9.
    price_divisor: float
    #: Treatment of a second row of one security and date: refused, accepted if all values are equal, ignored, or used instead of the first row.
    on_duplicate: t.Literal["refuse", "identical", "first", "last"]
    #: Treatment of a price of 0: refused, or read as a missing price.
    zero_prices: t.Literal["refuse", "missing"]
    #: Treatment of a negative price: refused, or read as its absolute value. CRSP marks the mean of bid and ask in this way.
    negative_prices: t.Literal["refuse", "absolute"]
    #: Column of closes adjusted for dividends, and for splits if CLOSE is not adjusted for them. Cash dividends, and these splits, are derived from it. The column is then not a datapoint.
    adjusted_close: t.Optional[str]
    #: Source of cash dividends if the table has a column of dividends, such as Dividends or divCash: `adjusted_close` or that column. `column` also reads splits, if CLOSE is as traded and the table has a column of splits. With both sources, each difference is a finding.
    dividends_from: t.Literal["adjusted_close", "column"]
    #: Columns, files and sheets that are ignored.
    ignore: t.Sequence[str]
    #: Price basis of CLOSE.
    adjustment: t.Literal["none", "splits", "total"]


class MappingChange(t.TypedDict, total=False):
    """Members of a mapping that change. All other members stay unchanged. A member is replaced as a whole."""

    #: `long`: one row per security and date; `wide`: one row per date and one column per security.
    layout: t.Literal["long", "wide"]
    #: Number of rows before the header of each table, without empty rows.
    skip_rows: int
    #: Encoding of text files without a byte order mark. Null: UTF-8.
    encoding: t.Optional[t.Literal["utf-8", "windows-1252", "windows-1250", "utf-16le", "utf-16be"]]
    #: For `wide`: field of the numbers. Null: the columns also state the field, in two header rows or as ("Close", "AAPL") in Parquet.
    field: t.Optional[str]
    #: For `wide` with one table per field: field of each file, sheet or table. Other tables are not read.
    fields: t.Mapping[str, str]
    #: Column of the date, the identifier and each datapoint, if it has another name. An empty text refers to the column without a name. Text files without a header: positions, such as #1, for all columns that are read.
    columns: t.Mapping[str, str]
    #: Source of the identifier: a column (also null), the name of the file or sheet (file:; other files are not read), or a label above the header (heading:Security).
    identifier_from: t.Optional[str]
    #: Date format; null is YYYY-MM-DD. A pattern of YYYY, YY, MMM, MM, M, DD and D, or one of epoch_s, epoch_ms, epoch_us, epoch_ns, excel (serial dates of Excel, such as 45293). Names of months may be in English, German, French, Spanish, Italian, Dutch or Portuguese. The time of day of a date without a time zone is ignored.
    date_format: t.Optional[str]
    #: Time zone of the days if the dates are instants in UTC: a zone such as Asia/Tokyo or +09:00, or the code of a calendar, such as XTKS. Null: the zone of the reference column EXCHANGE. Dates without a zone or with an offset are the days that they show.
    time_zone: t.Optional[str]
    #: Decimal separator. If it is a comma, points, apostrophes and spaces between thousands are ignored.
    decimal: t.Literal[".", ","]
    #: Thousands separator for numbers with a decimal point: 1,234.5. If it equals the decimal separator, it applies only to VOLUME and SHARES_OUTSTANDING, as in 58,490 next to 14,82. Null: none.
    thousands: t.Optional[t.Literal[",", ".", "'", " "]]
    #: Treatment of currency signs ($14.82) and of K, M, B or T after a number (59.83M): refused, or read.
    units: t.Literal["refuse", "read"]
    #: Divisor of OPEN, HIGH, LOW, CLOSE and adjusted closes, for prices in fixed point: 1e9 for whole numbers of 1e-9.
    price_divisor: float
    #: Treatment of a second row of one security and date: refused, accepted if all values are equal, ignored, or used instead of the first row.
    on_duplicate: t.Literal["refuse", "identical", "first", "last"]
    #: Treatment of a price of 0: refused, or read as a missing price.
    zero_prices: t.Literal["refuse", "missing"]
    #: Treatment of a negative price: refused, or read as its absolute value. CRSP marks the mean of bid and ask in this way.
    negative_prices: t.Literal["refuse", "absolute"]
    #: Column of closes adjusted for dividends, and for splits if CLOSE is not adjusted for them. Cash dividends, and these splits, are derived from it. The column is then not a datapoint.
    adjusted_close: t.Optional[str]
    #: Source of cash dividends if the table has a column of dividends, such as Dividends or divCash: `adjusted_close` or that column. `column` also reads splits, if CLOSE is as traded and the table has a column of splits. With both sources, each difference is a finding.
    dividends_from: t.Literal["adjusted_close", "column"]
    #: Columns, files and sheets that are ignored.
    ignore: t.Sequence[str]


class MappingInput(t.TypedDict, total=False):
    """Mapping of tables in their original format to a market. Columns that are not mapped are read by name."""

    #: `long`: one row per security and date; `wide`: one row per date and one column per security.
    layout: t.Literal["long", "wide"]
    #: Number of rows before the header of each table, without empty rows.
    skip_rows: int
    #: Encoding of text files without a byte order mark. Null: UTF-8.
    encoding: t.Optional[t.Literal["utf-8", "windows-1252", "windows-1250", "utf-16le", "utf-16be"]]
    #: For `wide`: field of the numbers. Null: the columns also state the field, in two header rows or as ("Close", "AAPL") in Parquet.
    field: t.Optional[str]
    #: For `wide` with one table per field: field of each file, sheet or table. Other tables are not read.
    fields: t.Mapping[str, str]
    #: Column of the date, the identifier and each datapoint, if it has another name. An empty text refers to the column without a name. Text files without a header: positions, such as #1, for all columns that are read.
    columns: t.Mapping[str, str]
    #: Source of the identifier: a column (also null), the name of the file or sheet (file:; other files are not read), or a label above the header (heading:Security).
    identifier_from: t.Optional[str]
    #: Date format; null is YYYY-MM-DD. A pattern of YYYY, YY, MMM, MM, M, DD and D, or one of epoch_s, epoch_ms, epoch_us, epoch_ns, excel (serial dates of Excel, such as 45293). Names of months may be in English, German, French, Spanish, Italian, Dutch or Portuguese. The time of day of a date without a time zone is ignored.
    date_format: t.Optional[str]
    #: Time zone of the days if the dates are instants in UTC: a zone such as Asia/Tokyo or +09:00, or the code of a calendar, such as XTKS. Null: the zone of the reference column EXCHANGE. Dates without a zone or with an offset are the days that they show.
    time_zone: t.Optional[str]
    #: Decimal separator. If it is a comma, points, apostrophes and spaces between thousands are ignored.
    decimal: t.Literal[".", ","]
    #: Thousands separator for numbers with a decimal point: 1,234.5. If it equals the decimal separator, it applies only to VOLUME and SHARES_OUTSTANDING, as in 58,490 next to 14,82. Null: none.
    thousands: t.Optional[t.Literal[",", ".", "'", " "]]
    #: Treatment of currency signs ($14.82) and of K, M, B or T after a number (59.83M): refused, or read.
    units: t.Literal["refuse", "read"]
    #: Divisor of OPEN, HIGH, LOW, CLOSE and adjusted closes, for prices in fixed point: 1e9 for whole numbers of 1e-9.
    price_divisor: float
    #: Treatment of a second row of one security and date: refused, accepted if all values are equal, ignored, or used instead of the first row.
    on_duplicate: t.Literal["refuse", "identical", "first", "last"]
    #: Treatment of a price of 0: refused, or read as a missing price.
    zero_prices: t.Literal["refuse", "missing"]
    #: Treatment of a negative price: refused, or read as its absolute value. CRSP marks the mean of bid and ask in this way.
    negative_prices: t.Literal["refuse", "absolute"]
    #: Column of closes adjusted for dividends, and for splits if CLOSE is not adjusted for them. Cash dividends, and these splits, are derived from it. The column is then not a datapoint.
    adjusted_close: t.Optional[str]
    #: Source of cash dividends if the table has a column of dividends, such as Dividends or divCash: `adjusted_close` or that column. `column` also reads splits, if CLOSE is as traded and the table has a column of splits. With both sources, each difference is a finding.
    dividends_from: t.Literal["adjusted_close", "column"]
    #: Columns, files and sheets that are ignored.
    ignore: t.Sequence[str]


class MappingQuestionConflicts(t.TypedDict):
    #: Asset identifier.
    identifier: str
    #: Number of rows that differ from the first row of their date.
    rows: int
    #: Date of the first differing row.
    date: str
    #: Column of the first differing value.
    column: str
    #: Value of the first row.
    first: t.Optional[float]
    #: Value of the later row.
    other: t.Optional[float]


class _MappingQuestion(t.TypedDict):
    #: Field of the mapping, or the adjustment, that the answer sets.
    field: t.Literal["adjustment", "layout", "skip_rows", "encoding", "field", "fields", "columns", "identifier_from", "date_format", "time_zone", "decimal", "thousands", "units", "price_divisor", "on_duplicate", "zero_prices", "negative_prices", "adjusted_close", "dividends_from", "ignore"]
    #: Question that the data does not answer.
    question: str
    #: Value that is used without an answer.
    taken: t.Optional[str]
    #: Other possible values.
    others: t.Sequence[str]
    #: True if the data cannot be read without an answer.
    required: bool


class MappingQuestion(_MappingQuestion, total=False):
    #: For on_duplicate: securities with different rows on one date; at most 1000.
    conflicts: t.Sequence[MappingQuestionConflicts]


class MarketCapFilterParams(t.TypedDict, total=False):
    """Keeps securities with a market capitalisation between two bounds. A separate minimum can apply to constituents."""

    #: Minimum market capitalisation; null: no minimum. Unit: money in index currency.
    minimum: t.Optional[float]
    #: Maximum market capitalisation; null: no maximum. Unit: money in index currency.
    maximum: t.Optional[float]
    #: True uses only the shares in free float.
    free_float: bool
    #: Minimum market capitalisation of a constituent. Default: same as for other securities. Unit: money in index currency.
    incumbent_minimum: t.Optional[float]
    #: Treatment of a security without a value of the datapoint. In a ranking, an included security without a value is last.
    missing: t.Literal["exclude", "include"]


class _MarketCapFilterRule(t.TypedDict):
    #: Id of the rule, unique within the pipeline.
    id: str
    type: t.Literal["MarketCapFilter"]


class MarketCapFilterRule(_MarketCapFilterRule, total=False):
    #: Parameters of the type, by name.
    params: MarketCapFilterParams
    #: Parameters that are tried, in order, if the rule keeps too few securities.
    fallback: t.Sequence[RuleFallback]


class MarketCapWeightParams(t.TypedDict, total=False):
    """Weights in proportion to market capitalisation."""

    #: True uses only the shares in free float.
    free_float: bool


class _MarketCapWeightWeighting(t.TypedDict):
    type: t.Literal["MarketCapWeight"]


class MarketCapWeightWeighting(_MarketCapWeightWeighting, total=False):
    #: Parameters of the type, by name.
    params: MarketCapWeightParams
    #: Maximum weight of a constituent: a number, or an expression such as min(0.09, 3 * weight_in("PARENT")), which is evaluated for each constituent. Default: no maximum. Unit: fraction.
    cap: t.Optional[t.Union[float, str, DatapointInput, ExpressionNodeInput]]
    #: Minimum weight of a security. Default: no minimum. Unit: fraction.
    floor: t.Optional[float]
    #: Maximum weights of groups.
    group_caps: t.Sequence[GroupCapInput]
    #: Reference column, such as ISSUER. `cap` and `ladder_caps` then limit the weight of each group of this column instead of each constituent. A constituent without a value is a separate group.
    cap_by: str
    #: Caps that apply if a limit is exceeded: first caps of single weights, then a cap of the total of large weights.
    ladder_caps: LadderCaps
    #: Datapoint that multiplies the raw weights. Its changes are phased in over several reviews.
    phase_in: PhaseInInput


class MaxDecorrelationObjective(t.TypedDict):
    """Minimum variance of the correlation matrix, with weights divided by volatilities and rescaled. This is the maximum diversification ratio."""

    type: t.Literal["max_decorrelation"]


class MaxDiversificationObjective(t.TypedDict):
    """Maximum diversification ratio, which is the weighted average of the volatilities divided by the volatility of the portfolio."""

    type: t.Literal["max_diversification"]


class MaxReturnObjective(t.TypedDict):
    """Maximum expected return within the constraints. To limit the risk, add a limit on the tracking error or on the volatility."""

    type: t.Literal["max_return"]


class _MaxSharpeObjective(t.TypedDict):
    type: t.Literal["max_sharpe"]


class MaxSharpeObjective(_MaxSharpeObjective, total=False):
    """Maximum expected return in excess of the risk-free rate per unit of volatility. Cash earns the risk-free rate."""

    #: Annual risk-free rate that is subtracted from the return. Unit: fraction per year.
    risk_free_rate: float


class _MaxUtilityObjective(t.TypedDict):
    type: t.Literal["max_utility"]


class MaxUtilityObjective(_MaxUtilityObjective, total=False):
    """Maximum expected return, less half the risk aversion times the variance, less the costs of the trades."""

    #: Half of this number is the price of one unit of variance.
    risk_aversion: float


class McpMessage(t.TypedDict):
    """One JSON-RPC 2.0 message of the Model Context Protocol."""

    jsonrpc: t.Literal["2.0"]


class MeasuringRisk(t.TypedDict):
    """Risk model of an optimisation."""

    #: Stored risk model; null for an estimate of the run.
    model_id: t.Optional[str]
    #: Estimator of the covariance; `imported` for an imported model.
    estimator: t.Literal["shrinkage", "nonlinear", "gerber", "denoised", "newey_west", "statistical", "industries", "styles", "imported"]
    #: Parameters of the estimator, as requested or by default.
    settings: t.Mapping[str, t.Optional[t.Union[str, float]]]
    #: Date of the first return.
    start: str
    #: Date of the last return.
    end: str
    #: Number of returns, which is the number of sessions on which every security has a return.
    sessions: int


class _MemberSpec(t.TypedDict):
    #: Name of the member.
    name: str
    #: Human-readable name.
    label: str
    #: Type of the value.
    type: t.Literal["number", "integer", "boolean", "string", "json"]
    #: True if the parameter is required.
    required: bool
    #: Position in a form.
    order: int
    #: Accepted values; null: any value of the type.
    choices: t.Optional[t.Sequence[str]]
    #: Description in one or two sentences.
    help: t.Optional[str]
    #: Schema of the value.
    ref: t.Optional[str]
    #: Format of a text or a list; null if the type determines it. `date`: a day, YYYY-MM-DD; `prose`: text of several lines; `texts`: a list of texts; `integers`: a list of whole numbers; `numbers`: numbers by name; `object`: an object with the members in `fields`; `rows`: a list of objects with the members in `fields`; `calendar`: a calendar of /indices/calendars; `universe`: a universe of the market, or an index; `watchlist`: a stored watchlist; `store`: a data store; `risk_model`: a stored risk model; `series`: a series of the market, of /data/series; `expression`: a datapoint by its name, or an expression of datapoints as text or as nodes; `condition`: a condition on datapoints as text or as nodes.
    format: t.Optional[t.Literal["date", "prose", "texts", "integers", "numbers", "object", "rows", "calendar", "universe", "watchlist", "store", "risk_model", "series", "expression", "condition"]]
    #: Conditions on other parameters under which this parameter is used: accepted values by parameter name. One matching entry is sufficient. Null: always used.
    when: t.Optional[t.Sequence[t.Mapping[str, t.Sequence[str]]]]


class MemberSpec(_MemberSpec, total=False):
    #: Default value.
    default: t.Any


_MembershipFilterParams = t.TypedDict("_MembershipFilterParams", {
    "index_id": str,
})


_MembershipFilterParamsOptional = t.TypedDict("_MembershipFilterParamsOptional", {
    "in": bool,
}, total=False)


class MembershipFilterParams(_MembershipFilterParams, _MembershipFilterParamsOptional):
    pass


class _MembershipFilterRule(t.TypedDict):
    #: Id of the rule, unique within the pipeline.
    id: str
    type: t.Literal["MembershipFilter"]


class MembershipFilterRule(_MembershipFilterRule, total=False):
    #: Parameters of the type, by name.
    params: MembershipFilterParams
    #: Parameters that are tried, in order, if the rule keeps too few securities.
    fallback: t.Sequence[RuleFallback]


class MethodologySentences(t.TypedDict):
    #: Number of the sentence.
    number: int
    #: Part of the methodology to which the sentence belongs.
    section: t.Literal["index", "universe", "selection", "weighting", "optimisation", "overlay", "rebalancing", "corporate_actions", "rounding", "amendments"]
    #: The sentence.
    text: str


class Methodology(t.TypedDict):
    #: The index, or the strategy of a run.
    index_id: str
    #: Display name.
    name: str
    #: Sentences in the order of application.
    sentences: t.Sequence[MethodologySentences]


class MethodologyChange(t.TypedDict):
    #: Version of the definition.
    version: int
    #: Time of the write.
    at: str
    #: Name of the key.
    author: str
    #: Note from the header X-Change-Note.
    note: t.Optional[str]
    #: Effect of the write.
    action: t.Literal["created", "updated", "restored", "deleted"]
    #: Sentences of the methodology that no longer apply.
    removed: t.Sequence[str]
    #: Sentences that replace them.
    added: t.Sequence[str]


class MethodologyChanges(t.TypedDict):
    #: Versions, newest first.
    changes: t.Sequence[MethodologyChange]
    #: Dated changes of the current definition, earliest first.
    amendments: t.Sequence[Amendment]


class MethodologyTemplateCollection(t.TypedDict):
    #: Methodologies that the service contains.
    templates: t.Sequence[MethodologyTemplateSummary]


class MethodologyTemplateDetail(t.TypedDict):
    #: Id: 1 to 64 letters, digits, dashes and underscores.
    id: str
    #: Title.
    title: str
    #: `size`: weights by market capitalisation. `factor`: selection or weights by other figures of companies. `other_weighting`: equal, price or risk weights. `optimised`: derived by an optimisation. `overlay`: computed from other indices.
    kind: t.Literal["size", "factor", "other_weighting", "optimised", "overlay"]
    #: Published index with a similar methodology.
    style: str
    #: Public document that the template follows.
    source: TemplateSource
    #: Columns, series and universes that the template requires in addition to closes.
    needs: t.Sequence[TemplateNeed]
    #: True if the served store contains all required data, including exchange rates, and the rules select securities on the base date; null if no store is served.
    can_run: t.Optional[bool]
    #: Reason why the rules select no securities on any base date that was tried; null if they select some, and if data is missing.
    problem: t.Optional[str]
    #: Exchange rates that the template requires and the served store lacks, such as EURUSD.
    missing_rates: t.Sequence[str]
    #: Number of securities that the last selection rule of the template keeps; null if it has no count.
    target_count: t.Optional[int]
    #: Ids of the documents of the template, in the order in which they must be stored.
    index_ids: t.Sequence[str]
    #: Choices of the template where the public document is not specific, and deviations from the document.
    choices: t.Sequence[str]
    #: Bodies in the form that PUT accepts, underlying indices first. If the served store lacks exchange rates into the currency of the template, they have the currency and the calendar of the store.
    documents: t.Sequence[t.Mapping[str, t.Any]]
    #: Other data that the served store lacks, such as exchange rates, or the reason why the rules have no composition on the base date.
    findings: t.Sequence[Finding]


class MethodologyTemplateLevel(t.TypedDict):
    #: Id of the document whose level is returned, which is the last document of the template.
    index_id: str
    #: Levels of some sessions of the last three years of the served store; null if there is a problem.
    level: t.Optional[SeriesPayload]
    #: Reason why the rules of the template select no securities of the served store.
    problem: t.Optional[str]
    #: Number of constituents of the last composition; null if there is a problem, and for an index that is computed from other indices.
    constituents: t.Optional[int]


class MethodologyTemplateSummary(t.TypedDict):
    #: Id: 1 to 64 letters, digits, dashes and underscores.
    id: str
    #: Title.
    title: str
    #: `size`: weights by market capitalisation. `factor`: selection or weights by other figures of companies. `other_weighting`: equal, price or risk weights. `optimised`: derived by an optimisation. `overlay`: computed from other indices.
    kind: t.Literal["size", "factor", "other_weighting", "optimised", "overlay"]
    #: Published index with a similar methodology.
    style: str
    #: Public document that the template follows.
    source: TemplateSource
    #: Columns, series and universes that the template requires in addition to closes.
    needs: t.Sequence[TemplateNeed]
    #: True if the served store contains all required data, including exchange rates, and the rules select securities on the base date; null if no store is served.
    can_run: t.Optional[bool]
    #: Reason why the rules select no securities on any base date that was tried; null if they select some, and if data is missing.
    problem: t.Optional[str]
    #: Exchange rates that the template requires and the served store lacks, such as EURUSD.
    missing_rates: t.Sequence[str]
    #: Number of securities that the last selection rule of the template keeps; null if it has no count.
    target_count: t.Optional[int]
    #: Ids of the documents of the template, in the order in which they must be stored.
    index_ids: t.Sequence[str]


class _MinCdarObjective(t.TypedDict):
    type: t.Literal["min_cdar"]


class MinCdarObjective(_MinCdarObjective, total=False):
    """Minimum average of the worst drawdowns: the conditional drawdown at risk of historical returns, summed by session."""

    #: Confidence: the average is taken over the worst scenarios, which are the fraction 1 - confidence. 0 averages all scenarios. Unit: fraction.
    confidence: float
    #: Number of sessions up to the decision. Their returns are the scenarios. Default: the sessions of the risk model. Unit: sessions.
    scenarios: t.Optional[int]


class _MinCvarObjective(t.TypedDict):
    type: t.Literal["min_cvar"]


class MinCvarObjective(_MinCvarObjective, total=False):
    """Minimum average loss of the worst sessions: the conditional value at risk (expected shortfall) of historical or simulated returns."""

    #: Confidence: the average is taken over the worst scenarios, which are the fraction 1 - confidence. 0 averages all scenarios. Unit: fraction.
    confidence: float
    #: Number of sessions up to the decision. Their returns are the scenarios. Default: the sessions of the risk model. Unit: sessions.
    scenarios: t.Optional[int]
    #: Source of the scenarios: historical returns, blocks of historical returns drawn with replacement, or draws with the covariance of the risk model, from a normal or Student's distribution.
    source: t.Literal["historical", "bootstrap", "normal", "student"]
    #: Number of drawn scenarios; ignored for historical scenarios.
    draws: int
    #: Number of consecutive returns in a block of a bootstrap. Maximum: the number of returns. Unit: sessions.
    block: int
    #: Degrees of freedom of Student's distribution. Fewer degrees of freedom mean heavier tails.
    degrees_of_freedom: int
    #: Seed of the draws. Equal seeds give equal draws.
    seed: int


class MinTrackingErrorObjective(t.TypedDict):
    """The lowest forecast tracking error: the weights nearest to the index within the constraints."""

    type: t.Literal["min_tracking_error"]


class MinVarianceObjective(t.TypedDict):
    """The lowest forecast volatility of the portfolio."""

    type: t.Literal["min_variance"]


class _MinimumHoldingParams(t.TypedDict):
    #: Minimum weight of a held security. Unit: fraction.
    threshold: float


class MinimumHoldingParams(_MinimumHoldingParams, total=False):
    """The weight of a security is at least a threshold, or zero. Short positions are not affected."""

    #: Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated.
    soft: t.Optional[float]
    #: Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy.
    priority: int


class _MinimumHoldingRow(t.TypedDict):
    type: t.Literal["MinimumHolding"]


class MinimumHoldingRow(_MinimumHoldingRow, total=False):
    #: Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position.
    id: str
    #: Parameters of the type, by name.
    params: MinimumHoldingParams


class MinimumVarianceWeightParams(t.TypedDict, total=False):
    """Long-only weights with minimum variance."""

    #: Number of trailing returns of the covariance. Unit: sessions.
    window: int
    #: Target towards which the sample covariance is shrunk.
    target: t.Literal["constant_correlation", "scaled_identity"]
    #: Weight of the target. Default: securities / (securities + observations). Unit: fraction.
    intensity: t.Optional[float]
    #: Maximum weight in the minimisation. If the maximum is too low for full investment, the weights are equal. Unit: fraction.
    upper: float


class _MinimumVarianceWeightWeighting(t.TypedDict):
    type: t.Literal["MinimumVarianceWeight"]


class MinimumVarianceWeightWeighting(_MinimumVarianceWeightWeighting, total=False):
    #: Parameters of the type, by name.
    params: MinimumVarianceWeightParams
    #: Maximum weight of a constituent: a number, or an expression such as min(0.09, 3 * weight_in("PARENT")), which is evaluated for each constituent. Default: no maximum. Unit: fraction.
    cap: t.Optional[t.Union[float, str, DatapointInput, ExpressionNodeInput]]
    #: Minimum weight of a security. Default: no minimum. Unit: fraction.
    floor: t.Optional[float]
    #: Maximum weights of groups.
    group_caps: t.Sequence[GroupCapInput]
    #: Reference column, such as ISSUER. `cap` and `ladder_caps` then limit the weight of each group of this column instead of each constituent. A constituent without a value is a separate group.
    cap_by: str
    #: Caps that apply if a limit is exceeded: first caps of single weights, then a cap of the total of large weights.
    ladder_caps: LadderCaps
    #: Datapoint that multiplies the raw weights. Its changes are phased in over several reviews.
    phase_in: PhaseInInput


class MomentumFilterParams(t.TypedDict, total=False):
    """Keeps securities with a minimum total return over a window that skips the latest sessions. The return includes the growth over missing price bars."""

    #: Number of trailing sessions before the skipped sessions. Unit: sessions.
    window: int
    #: Number of latest sessions that are skipped. Unit: sessions.
    skip: int
    #: Minimum return over the window. Unit: fraction.
    minimum: float
    #: Treatment of a security without a value of the datapoint. In a ranking, an included security without a value is last.
    missing: t.Literal["exclude", "include"]


class _MomentumFilterRule(t.TypedDict):
    #: Id of the rule, unique within the pipeline.
    id: str
    type: t.Literal["MomentumFilter"]


class MomentumFilterRule(_MomentumFilterRule, total=False):
    #: Parameters of the type, by name.
    params: MomentumFilterParams
    #: Parameters that are tried, in order, if the rule keeps too few securities.
    fallback: t.Sequence[RuleFallback]


class MovedDate(t.TypedDict):
    #: Effective date.
    date: str
    #: Session on which the closure was announced; the date of the closure if there was no notice.
    announcement: str


class MovesCheck(t.TypedDict):
    """Large price moves of constituents have a corporate action."""

    check: t.Literal["moves"]
    #: Findings block the index (block), or are only reported (warn). Default: block.
    severity: t.Literal["block", "warn"]
    #: Largest price move without a corporate action, a fraction.
    limit: float


class _MovesCheckInput(t.TypedDict):
    check: t.Literal["moves"]


class MovesCheckInput(_MovesCheckInput, total=False):
    """Large price moves of constituents have a corporate action."""

    #: Findings block the index (block), or are only reported (warn). Default: block.
    severity: t.Literal["block", "warn"]
    #: Largest price move without a corporate action, a fraction.
    limit: float


class NameSolve(t.TypedDict):
    """Balance of forces that determines the solved weight of the security, or the bound that determines it."""

    #: Every constraint of the security, binding or not, in the order of the request, with lower bounds first.
    rows: t.Sequence[SolvedRow]
    #: Minimum feasible weight of the security, including selection constraints; null if there is no minimum.
    lower: t.Optional[float]
    #: Maximum feasible weight of the security, including selection constraints; null if there is no maximum.
    upper: t.Optional[float]
    #: Reference weight of the objective: source_weight for the tracking error, otherwise 0.
    centre: float
    #: Second derivative of the objective with respect to the weight. For the tracking error, twice the sum of the variance of the security and the tie-breaking term.
    stiffness: float
    #: Derivative of the other terms of the objective. For the tracking error, twice the sum of the covariances of the security with the active weights of the other securities.
    pull: float
    #: Sum of the forces of all constraints and of the selection of securities.
    force: float
    #: centre - (pull + force) / stiffness, which is the weight without bounds. Null if stiffness is 0.
    free_weight: t.Optional[float]
    #: `free`: the weight equals free_weight. `lower`, `upper`, `fixed`: the weight is at a bound. `kink`: the weight is at the weight before trading, or at a soft bound.
    held_by: t.Literal["free", "lower", "upper", "fixed", "kink"]
    #: Bound or kink of the weight; null if the weight is free.
    held_at: t.Optional[float]
    #: free_weight or held_at, whichever applies.
    solved_weight: float
    #: Scaling factor after weights that are zero up to rounding were removed; 1 if there were none.
    scale: float


class NextName(t.TypedDict):
    #: Asset identifier.
    identifier: str
    #: Change of objective_value per unit of weight of the security.
    marginal: float
    #: Annualised expected return of the security by the model of the run.
    expected_return: t.Optional[float]
    #: Minimum expected return at which the security would be held, with all other expected returns unchanged; null if neither the objective nor a binding ExpectedReturn constraint uses expected returns.
    entry_return: t.Optional[float]


class _NotNode(t.TypedDict):
    node: t.Literal["not"]
    #: Condition that must be false.
    operand: ExpressionNode


class NotNode(_NotNode, total=False):
    """True if the operand is false."""

    #: Canonical text of the tree, at its root; ignored in requests.
    text: str


class _NotNodeInput(t.TypedDict):
    node: t.Literal["not"]
    #: Condition that must be false.
    operand: ExpressionNodeInput


class NotNodeInput(_NotNodeInput, total=False):
    """True if the operand is false."""

    #: Canonical text of the tree, at its root; ignored in requests.
    text: str


#: Objective of the optimisation: its type, or an object with the type and its parameters.
Objective = t.Union[t.Literal["min_tracking_error", "min_variance", "max_utility", "max_return", "max_sharpe", "risk_parity", "max_diversification", "max_decorrelation", "min_cvar", "min_cdar"], t.Union["MinTrackingErrorObjective", "MinVarianceObjective", "MaxUtilityObjective", "MaxReturnObjective", "MaxSharpeObjective", "RiskParityObjective", "MaxDiversificationObjective", "MaxDecorrelationObjective", "MinCvarObjective", "MinCdarObjective"]]

class ObjectiveMeasure(t.TypedDict):
    """Figure in which a run reports the objective and its changes."""

    #: Term for the figure in the sentences of a run.
    name: str
    #: Relation of the figure to `objective_value`. `root`: the root of a variance, a fraction per year; `return`: the value itself, a fraction per year; `loss`: the value itself, a fraction lost; `number`: the value itself, without a unit.
    form: t.Literal["root", "return", "loss", "number"]


class ObjectiveTypeSpec(t.TypedDict):
    #: Class name.
    type: str
    #: Human-readable name.
    label: str
    #: Catalogue that contains the class.
    category: t.Literal["selection", "weighting", "constraint", "objective", "expected_returns"]
    #: Description in one or two sentences.
    help: t.Optional[str]
    #: Parameters of the class in the order of a form.
    parameters: t.Sequence[ParameterSpec]
    #: Unit of the figure.
    unit: t.Optional[t.Literal["fraction", "count", "value"]]
    #: Kind of the object.
    kind: t.Optional[t.Literal["eq", "ineq"]]
    #: False for classes that make a result heuristic.
    convex: t.Optional[bool]
    #: Complete valid example.
    example: t.Optional[t.Mapping[str, t.Any]]
    #: Measure in which a run reports the objective and its changes.
    measure: ObjectiveMeasure


class ObjectiveTypes(t.TypedDict):
    #: Objectives of an optimisation.
    objectives: t.Sequence[ObjectiveTypeSpec]
    #: Models of expected returns.
    expected_returns: t.Sequence[TypeSpec]


class OnePerIssuerParams(t.TypedDict, total=False):
    """Keeps the best share line of each issuer. A security without an issuer is a separate issuer."""

    #: Column that identifies the issuer.
    issuer_field: str
    #: Column or derived datapoint.
    field: str
    #: Number of trailing sessions of the calendar up to the decision date. Sessions without a price bar have no value. Unit: sessions.
    window: int
    #: Treatment of a security without a value of the datapoint. In a ranking, an included security without a value is last.
    missing: t.Literal["exclude", "include"]


class _OnePerIssuerRule(t.TypedDict):
    #: Id of the rule, unique within the pipeline.
    id: str
    type: t.Literal["OnePerIssuer"]


class OnePerIssuerRule(_OnePerIssuerRule, total=False):
    #: Parameters of the type, by name.
    params: OnePerIssuerParams
    #: Parameters that are tried, in order, if the rule keeps too few securities.
    fallback: t.Sequence[RuleFallback]


#: An OpenAPI 3.1 document.
OpenApiDocument = t.Mapping[str, t.Any]

class OptimisationJobStatus(t.TypedDict):
    #: {kind}:{id}, for example backtest:LARGE-100.
    job_id: str
    kind: t.Literal["optimise"]
    #: Order in which waiting jobs start.
    priority: t.Literal["high", "normal", "low"]
    #: pending -> running -> succeeded, failed or cancelled. Terminal states never change.
    status: t.Literal["pending", "running", "succeeded", "failed", "cancelled"]
    #: Completed fraction: 0 while pending, exactly 1 after success. It never decreases during an attempt.
    progress: float
    #: Current step.
    message: str
    #: Error of the job; only if it failed.
    error: t.Optional[ErrorDetail]
    #: Time of the submission, ISO-8601 UTC with offset.
    created_at: str
    #: Start of the current attempt.
    started_at: t.Optional[str]
    #: Time of the end, ISO-8601 UTC with offset; null while it has not ended.
    finished_at: t.Optional[str]
    #: Time of the last heartbeat of the running attempt.
    heartbeat_at: t.Optional[str]
    #: Number of starts, which is recorded before the work starts.
    attempt: int
    #: Latest attempts in order, at most eleven. The last one is the current attempt.
    attempts: t.Sequence[JobAttempt]
    #: Request body as it was accepted.
    request: t.Any
    #: SHA-256 of all inputs except the market.
    input_hash: str
    #: X-Request-Id of the submission, which log lines of the job contain. Null if the service submitted the job.
    request_id: t.Optional[str]
    #: Trace of the submission, from its header traceparent.
    trace_id: t.Optional[str]
    #: Addresses that are notified when the job ends.
    callbacks: t.Sequence[JobCallback]
    #: Result of the job, if it succeeded. Null if the run of a backtest was deleted.
    result: t.Optional[OptimisationRunResult]


class _OptimisationPreviewRequest(t.TypedDict):
    #: Index whose weights are the target.
    index_id: str


class OptimisationPreviewRequest(_OptimisationPreviewRequest, total=False):
    #: Objective: an object with a type of `/optimise/objective-types` and its parameters, or only the type. A derived index accepts only the type `min_tracking_error` without an object.
    objective: Objective
    #: Expected returns are required for max_utility, max_return and max_sharpe. A run also uses them for its frontier.
    expected_returns: t.Optional[ExpectedReturns]
    #: Uncertainty sets of expected returns and covariances; the objective is optimised for the worst case.
    uncertainty: t.Optional[UncertaintyInput]
    #: Trading costs, linear and market impact. In a result, their sum as a fraction of value.
    costs: t.Optional[TradeCostsInput]
    #: Covariance for the objective, the constraints and the results: the id of a stored model, or an estimator. Null: the default estimator.
    risk_model: t.Optional[t.Union[str, RiskEstimatorInput]]
    #: Securities that can be held: the securities of the index (default), or every security of its universe with a price. Securities outside the index have an index weight of 0.
    candidates: t.Literal["parent", "universe"]
    #: Rebalance whose weights are the target: the latest on or before this day; null for the latest rebalance.
    as_of: t.Optional[Date]
    #: First day of the window of the risk model.
    start: t.Optional[Date]
    #: Last day of the window of the risk model. It is never after the decision date of the rebalance.
    end: t.Optional[Date]
    #: Constraints. Without constraints, the portfolio is long-only and fully invested.
    constraints: t.Sequence[ConstraintRowBody]


class _OptimisationRunRequest(t.TypedDict):
    #: Index whose weights are the target.
    index_id: str
    #: The constraint set.
    constraint_set_id: str


class OptimisationRunRequest(_OptimisationRunRequest, total=False):
    #: Objective: an object with a type of `/optimise/objective-types` and its parameters, or only the type. A derived index accepts only the type `min_tracking_error` without an object.
    objective: Objective
    #: Expected returns are required for max_utility, max_return and max_sharpe. A run also uses them for its frontier.
    expected_returns: t.Optional[ExpectedReturns]
    #: Uncertainty sets of expected returns and covariances; the objective is optimised for the worst case.
    uncertainty: t.Optional[UncertaintyInput]
    #: Trading costs, linear and market impact. In a result, their sum as a fraction of value.
    costs: t.Optional[TradeCostsInput]
    #: Covariance for the objective, the constraints and the results: the id of a stored model, or an estimator. Null: the default estimator.
    risk_model: t.Optional[t.Union[str, RiskEstimatorInput]]
    #: Securities that can be held: the securities of the index (default), or every security of its universe with a price. Securities outside the index have an index weight of 0.
    candidates: t.Literal["parent", "universe"]
    #: Rebalance whose weights are the target: the latest on or before this day; null for the latest rebalance.
    as_of: t.Optional[Date]
    #: First day of the window of the risk model.
    start: t.Optional[Date]
    #: Last day of the window of the risk model. It is never after the decision date of the rebalance.
    end: t.Optional[Date]
    #: Annual risk-free rate for the tangency portfolio of the frontier.
    risk_free_rate: float
    #: Frontier that is averaged over draws; null for only the frontier of the estimates.
    resampling: t.Optional[Resampling]
    #: Effort to prove a selection of securities: `quick` within seconds, `thorough` within about a minute of one processor. `gap` of the result states the remaining uncertainty.
    proof: t.Literal["quick", "thorough"]


class _OptimisationRunResult(t.TypedDict):
    #: The optimisation run.
    run_id: str
    #: The index, or the strategy of a run.
    index_id: str
    #: The constraint set.
    constraint_set_id: str
    #: First date of the prices of the constituents.
    start: str
    #: Last date of the prices of the constituents.
    end: str
    #: Rebalance whose weights are the target.
    rebalance_date: str
    #: True if the optimality conditions are satisfied for the original constraints.
    converged: bool
    #: True if a non-convex constraint required a second solution with a restricted selection. The solution is then feasible, but not proven optimal.
    heuristic: bool
    #: Number of securities with a weight above 0.
    holdings: int
    #: Number of solver iterations.
    iterations: int
    #: Type of the objective.
    objective_type: str
    #: Objective in its measure, including costs: variance, utility, return, Sharpe ratio, diversification ratio, weighted correlation, average loss or drawdown of the worst scenarios, or the distance from parity, ln(volatility / product of (w/b)^b) less its value at parity.
    objective_value: float
    #: Annualised variance of the active weights for any objective, which is the square of tracking_error. The run optimises objective_value.
    objective: float
    #: Bound of the objective over all feasible weights. If a constraint limits the number of securities and the objective is quadratic or max_return, the bound is proven over all selections of securities. Otherwise, it is the value without the non-convex constraints, less the gap of the proof for tail risk.
    bound: t.Optional[float]
    #: Distance between the value and the bound, relative to the value.
    gap: t.Optional[float]
    #: Annualised expected return before costs; null without expected returns.
    expected_return: t.Optional[float]
    #: Annualised volatility by the risk model of the run.
    volatility: float
    #: Trading costs as a fraction of value; null if no costs were requested.
    costs: t.Optional[float]
    #: Annualised standard deviation of return differences.
    tracking_error: float
    #: One-way turnover against the index weights.
    turnover: float
    #: Sum of the active weights; zero if the portfolio is fully invested.
    active_sum: float
    #: Status of the solver.
    solver_message: str
    #: Every security, beginning with the largest active position.
    weights: t.Sequence[WeightRow]
    #: Binding constraints: id, index, type, label, side, unit and shadow_price as text.
    binding: t.Sequence[t.Optional[t.Mapping[str, str]]]
    #: Efficient frontier within the constraints.
    frontier: t.Optional[FrontierPayload]
    #: Findings, most severe first.
    findings: t.Sequence[Finding]


class OptimisationRunResult(_OptimisationRunResult, total=False):
    #: Risk model of objective, constraints and results. Absent in runs of earlier versions.
    risk_model: MeasuringRisk
    #: Number of securities with a position, long or short. Absent from results of earlier versions.
    gross_holdings: int
    #: Requested effort to prove a selection of securities. Absent in runs of earlier versions.
    proof: t.Literal["quick", "thorough"]
    #: Scenarios of `min_cvar` or `min_cdar`; null for other objectives, absent in runs of earlier versions.
    tail: t.Optional[TailOutcome]
    #: Figures for `uncertainty`; otherwise null, absent in runs of earlier versions.
    worst_case: t.Optional[WorstCase]
    #: Figures of the index weights. Absent in runs of earlier versions.
    before: WeightFigures
    #: Soft bounds that the weights violate. Absent in runs of earlier versions.
    exceeded: t.Sequence[ExceededLimit]
    #: Every side of every constraint. If it limits several securities or groups, it has the value and the bound of the one that is nearest to its bound. Absent in runs of earlier versions.
    constraints: t.Sequence[SolvedConstraint]
    #: Effect of relaxing each binding bound: fractions by one percentage point, counts by one, other bounds by one hundredth. At most 20 bounds, the most expensive first. If constraints select securities, the selection does not change. This field and the next two fields are absent in runs of earlier versions.
    sensitivities: t.Sequence[SensitivityRow]
    #: Cost of each of the first 20 constraints of the request.
    constraint_costs: t.Sequence[ConstraintCost]
    #: At most 10 securities that are excluded only by their lower bound of 0, beginning with the security that is closest to a positive weight.
    next_names: t.Sequence[NextName]


class _OptimiseRequest(t.TypedDict):
    #: Id of the new index.
    id: str
    #: Display name.
    name: str


class OptimiseRequest(_OptimiseRequest, total=False):
    #: Description of the new index, free text. It is not copied from the parent.
    description: t.Optional[str]
    #: Objective: an object with a type of `/optimise/objective-types` and its parameters, or only the type. A derived index accepts only the type `min_tracking_error` without an object.
    objective: Objective
    #: Expected returns are required for max_utility, max_return and max_sharpe. A run also uses them for its frontier.
    expected_returns: t.Optional[ExpectedReturns]
    #: Uncertainty sets of expected returns and covariances; the objective is optimised for the worst case.
    uncertainty: t.Optional[UncertaintyInput]
    #: Trading costs, linear and market impact. In a result, their sum as a fraction of value.
    costs: t.Optional[TradeCostsInput]
    #: Covariance for the objective, the constraints and the results: the id of a stored model, or an estimator. Null: the default estimator.
    risk_model: t.Optional[t.Union[str, RiskEstimatorInput]]
    #: Securities that can be held: the securities of the index (default), or every security of its universe with a price. Securities outside the index have an index weight of 0.
    candidates: t.Literal["parent", "universe"]
    #: Constraints. Without constraints, the portfolio is long-only and fully invested.
    constraints: t.Sequence[ConstraintRowBody]
    #: Constraints that are relaxed step by step, in this order, at rebalances with an infeasible problem. Constraints with a priority are relaxed afterwards.
    relax: t.Sequence[RelaxEntry]


class OtherAdjustment(t.TypedDict):
    #: Price basis of CLOSE: as traded, divided by later splits, or by splits and dividends.
    adjustment: t.Literal["none", "splits", "total"]
    #: Meaning of this value.
    meaning: str


class OutsideLevel(t.TypedDict):
    #: The date.
    date: Date
    #: Level on the date.
    value: float


class OverlayPart(t.TypedDict):
    #: Overlay of the part: this overlay, or an underlying overlay.
    index_id: str
    #: Kind of the part: cash (interest that is earned or lost on cash), costs (costs of changes of the exposure), currency (the exchange rate on cash of the underlying index), decrement (the synthetic dividend), fee (the fee), financing (interest that is paid on borrowed money, or earned on the proceeds of short positions), hedge (gains and losses of currency forwards).
    part: t.Literal["cash", "costs", "currency", "decrement", "fee", "financing", "hedge"]
    #: Linked contribution to the total return.
    contribution: float


OverlaySpec = t.Union["CurrencyOverlay", "CurrencyHedgedOverlay", "QuantoOverlay", "RiskControlOverlay", "LeverageOverlay", "DecrementOverlay", "ExcessReturnOverlay", "BlendOverlay", "FeeOverlay"]

OverlaySpecInput = t.Union["CurrencyOverlay", "CurrencyHedgedOverlayInput", "QuantoOverlay", "RiskControlOverlayInput", "LeverageOverlayInput", "DecrementOverlayInput", "ExcessReturnOverlayInput", "BlendOverlayInput", "FeeOverlayInput"]

class OverlayTypeSpec(t.TypedDict):
    #: Class name.
    type: str
    #: Human-readable name.
    label: str
    #: Description in one or two sentences.
    help: str
    #: Level of session t from the previous level. g is the growth of the index.
    formula: str
    #: Publication that contains the formula.
    reference: str
    #: Parameters of the class in the order of a form.
    parameters: t.Sequence[ParameterSpec]
    #: Complete valid example.
    example: t.Mapping[str, t.Any]


class OverlayTypes(t.TypedDict):
    #: Parameters in the order of a form.
    overlays: t.Sequence[OverlayTypeSpec]


class OverrideFacts(t.TypedDict):
    """Price that replaces the price of the source."""

    kind: t.Literal["override"]
    #: The data store.
    store_id: str
    #: Security.
    identifier: str
    #: Session of the price.
    date: str
    #: Price in force; null if there is none.
    before: t.Optional[float]
    #: Requested price; null withdraws the override.
    price: t.Optional[float]
    #: Relative change of the price; null if a price is missing.
    change: t.Optional[float]
    #: Reason.
    reason: str


class _OverviewView(t.TypedDict):
    #: Version of the index or strategy; null for runs that were stored before versions existed.
    index_version: t.Optional[int]
    #: Data store on which the run was computed; null for runs that were stored without it.
    store_id: t.Optional[str]
    #: Causes why the run is stale; null if the stored run equals a new run of the request.
    stale: t.Optional[StaleState]
    #: The index, or the strategy of a run.
    index_id: str
    #: Display name.
    name: str
    #: Concentration of the weights.
    concentration: ConcentrationPayload
    #: Level, 100 at the start.
    level: SeriesPayload
    #: Figures of the run.
    metrics: BacktestMetrics
    #: Number of dates used.
    observations: int
    #: Number of rebalances in the run.
    rebalances: int
    #: Date of the latest rebalance.
    last_rebalance: str
    #: First date of the run's levels.
    start: str
    #: Last date of the levels of the run.
    end: str


class OverviewView(_OverviewView, total=False):
    #: Long, short, gross and net exposure of the last rebalance; absent without a short position.
    exposure: ExposurePayload
    #: Comparison of a derived index with its parent. Absent for other indices and in runs of earlier versions.
    parent: ParentPayload
    #: Return variant of the levels. It is `total` on prices that include dividends, regardless of the treatment. Absent in runs of earlier versions.
    return_variant: t.Literal["price", "total", "net"]


class _PackAccount(t.TypedDict):
    #: Name of the account, unique among the accounts. AUM is the account of `aum`.
    name: str


class PackAccount(_PackAccount, total=False):
    #: Cash in the currency of the index.
    cash: float
    #: Holdings, by shares or by value.
    holdings: t.Sequence[PackHolding]


class PackCost(t.TypedDict, total=False):
    #: Full spread. Half of it is paid.
    spread_bps: float
    #: Market impact of trading the volume of a whole day.
    impact_bps: float


class _PackHolding(t.TypedDict):
    #: Asset identifier.
    identifier: str


class PackHolding(_PackHolding, total=False):
    #: Number of shares; negative for a short position.
    shares: t.Optional[float]
    #: Value instead of shares, at the close of as_of and in the currency of the index.
    value: t.Optional[float]


class PackReconciliation(t.TypedDict):
    """Orders of the announcement compared with the orders of as_of, for the same holdings. The differences are the effect of prices since the announcement. Null before the announcement."""

    #: Session of the announcement, with the closes at which its orders are valued.
    announced: str
    #: Accounts, in the order of the pack.
    accounts: t.Sequence[ReconciledAccount]


class PackTrade(t.TypedDict):
    #: Asset identifier.
    identifier: str
    #: Bought or sold.
    side: t.Literal["buy", "sell"]
    #: Number of traded shares.
    shares: float
    #: Latest close in the currency of the index.
    price: float
    #: The value.
    value: float
    #: Fraction of the value before the trades.
    weight_before: float
    #: Weight in the index.
    weight_target: float
    #: Fraction of the value after trades and costs.
    weight_after: float
    #: Mean volume; null if unknown.
    adv_shares: t.Optional[float]
    #: shares / adv_shares: 1 is a whole day.
    adv_share: t.Optional[float]
    #: shares / (participation * adv_shares).
    days_to_trade: t.Optional[float]
    #: value * (spread_bps / 2 + impact_bps * sqrt(shares / adv_shares)) / 10,000.
    cost: float
    #: Reason.
    reason: t.Literal["add", "delete", "reweight"]


class PackedAccount(t.TypedDict):
    #: Display name.
    name: str
    #: Value of cash and holdings before the trades. All amounts are in the currency of the index.
    value: float
    #: Cash after trades and costs.
    cash_after: float
    #: Half the traded value divided by the value.
    turnover: float
    #: Expected cost of the trades.
    cost: float
    #: Half the sum of the absolute differences between achieved and target weights, which result from lots.
    drift_after: float
    #: By identifier.
    trades: t.Sequence[PackTrade]


class _ParameterSpec(t.TypedDict):
    #: Name of the parameter.
    name: str
    #: Human-readable name.
    label: str
    #: Type of the value.
    type: t.Literal["number", "integer", "boolean", "string", "json"]
    #: True if the parameter is required.
    required: bool
    #: Position in a form.
    order: int
    #: Accepted values; null: any value of the type.
    choices: t.Optional[t.Sequence[str]]
    #: Description in one or two sentences.
    help: t.Optional[str]
    #: Schema of the value.
    ref: t.Optional[str]
    #: Format of a text or a list; null if the type determines it. `date`: a day, YYYY-MM-DD; `prose`: text of several lines; `texts`: a list of texts; `integers`: a list of whole numbers; `numbers`: numbers by name; `object`: an object with the members in `fields`; `rows`: a list of objects with the members in `fields`; `calendar`: a calendar of /indices/calendars; `universe`: a universe of the market, or an index; `watchlist`: a stored watchlist; `store`: a data store; `risk_model`: a stored risk model; `series`: a series of the market, of /data/series; `expression`: a datapoint by its name, or an expression of datapoints as text or as nodes; `condition`: a condition on datapoints as text or as nodes.
    format: t.Optional[t.Literal["date", "prose", "texts", "integers", "numbers", "object", "rows", "calendar", "universe", "watchlist", "store", "risk_model", "series", "expression", "condition"]]
    #: Conditions on other parameters under which this parameter is used: accepted values by parameter name. One matching entry is sufficient. Null: always used.
    when: t.Optional[t.Sequence[t.Mapping[str, t.Sequence[str]]]]
    #: Members of an object, or of each entry of a list of objects; null for other values.
    fields: t.Optional[t.Sequence[MemberSpec]]


class ParameterSpec(_ParameterSpec, total=False):
    #: Default value.
    default: t.Any


class _ParentPayload(t.TypedDict):
    #: The index, or the strategy of a run.
    index_id: str
    #: Number of dates in both the run and the parent.
    observations: int
    #: Return of the parent over the common dates. A fraction.
    total_return: float
    #: Total return of the run less the total return of the parent. A fraction.
    tracking_difference: float
    #: Annualised standard deviation of the return differences to the parent. A fraction.
    tracking_error: float


class ParentPayload(_ParentPayload, total=False):
    #: Comparison of realised and forecast tracking error. Absent if no rebalance had a risk model, and in runs of earlier versions.
    forecast: TrackingForecastPayload


class _PatchOperation(t.TypedDict):
    op: t.Literal["add", "remove", "replace"]
    #: Path of the field, as the client wrote it.
    path: str


class PatchOperation(_PatchOperation, total=False):
    #: The value.
    value: t.Any


class PerformanceView(t.TypedDict):
    #: Version of the index or strategy; null for runs that were stored before versions existed.
    index_version: t.Optional[int]
    #: Data store on which the run was computed; null for runs that were stored without it.
    store_id: t.Optional[str]
    #: Causes why the run is stale; null if the stored run equals a new run of the request.
    stale: t.Optional[StaleState]
    #: The index, or the strategy of a run.
    index_id: str
    #: Series that all figures describe: the portfolio after costs, or the index that it tracks.
    of: t.Literal["portfolio", "index"]
    #: Return variant of the measured series.
    return_variant: t.Literal["price", "total", "net"]
    #: Requested value; the first date of the run if omitted.
    requested_start: str
    #: Requested value; the last date of the run if omitted.
    requested_end: str
    #: First date of the run in the window.
    start: str
    #: Last date of the run in the window.
    end: str
    #: Number of dates used.
    observations: int
    #: Level on `end`: of the index in points, or of the portfolio, which is 100 at the start of its run.
    end_level: float
    #: Return of the session `end`. A fraction.
    day_return: float
    #: Measured level, 100 on the first date.
    level: SeriesPayload
    #: Level of the tracked index in its return variant, 100 on the first date.
    index_level: SeriesPayload
    #: Benchmark of the run; null if there is none.
    benchmark: t.Optional[str]
    #: Return variant of the benchmark; `raw` for unadjusted levels. Null if there is no benchmark, and in runs of earlier versions.
    benchmark_variant: t.Optional[t.Literal["price", "total", "net", "raw"]]
    #: Level of the benchmark, 100 on the first common date of the window; null if there is none.
    benchmark_level: t.Optional[SeriesPayload]
    #: Level relative to its peak in the window, less 1; 0 at a high.
    drawdown: SeriesPayload
    #: Figures of the window.
    metrics: BacktestMetrics
    #: Distribution of the returns of the window.
    statistics: ReturnStatistics
    #: Comparison with the benchmark on the common dates of the window; null with fewer than three.
    benchmark_statistics: t.Optional[BenchmarkStatistics]
    #: The ten deepest drawdowns of the window, beginning with the deepest.
    drawdowns: t.Sequence[DrawdownRow]
    #: Return of each calendar year within the window. The returns compound to the total return.
    annual_returns: t.Mapping[str, float]
    #: `WINDOW_CUT`: the benchmark lacks dates of the window.
    findings: t.Sequence[Finding]
    #: Return of each month (YYYY-MM) within the window. The returns compound to the total return.
    monthly_returns: t.Mapping[str, float]


class _PersonalAccount(t.TypedDict):
    #: Id of the account, which its result contains.
    account_id: str


class PersonalAccount(_PersonalAccount, total=False):
    #: Cash, in the currency of the index.
    cash: float
    #: Lots held.
    lots: t.Sequence[AccountLot]
    #: Securities that are sold and not bought.
    exclusions: t.Sequence[str]
    #: Weights that are added to the weights of the parent, by security.
    tilts: t.Mapping[str, float]
    #: Maximum annual tracking error.
    tracking_error_limit: t.Optional[float]
    #: Minimum trade, in money.
    minimum_trade: float
    #: Trades before `as_of`. Share counts are adjusted for splits up to `as_of`.
    recent: t.Sequence[RecentTrade]
    #: Groups of securities that are treated as identical for wash sales.
    substitutes: t.Sequence[t.Sequence[str]]
    #: Rates and rules of the tax.
    tax: AccountTax


class PhaseIn(t.TypedDict):
    #: Datapoint or expression that multiplies the raw weights, such as FREE_FLOAT.
    field: t.Union[str, Datapoint, ExpressionNode]
    #: Number of reviews over which a change of the field is phased in, in equal steps. Unit: reviews.
    steps: int


class PhaseInInput(t.TypedDict):
    #: Datapoint or expression that multiplies the raw weights, such as FREE_FLOAT.
    field: t.Union[str, DatapointInput, ExpressionNodeInput]
    #: Number of reviews over which a change of the field is phased in, in equal steps. Unit: reviews.
    steps: int


class PhaseSpec(t.TypedDict, total=False):
    #: Number of closes with equal increments. Unit: sessions.
    sessions: int
    #: Increment of each close, with a sum of 1. Replaces the number of closes.
    fractions: t.Sequence[float]


class _PipelineBody(t.TypedDict):
    #: Weighting of the selected securities.
    weighting: t.Union[EqualWeightWeighting, MarketCapWeightWeighting, PriceWeightWeighting, FieldWeightWeighting, FixedWeightWeighting, RankWeightWeighting, InverseVolatilityWeightWeighting, EqualRiskWeightWeighting, MinimumVarianceWeightWeighting, TiltWeightWeighting, GroupWeightWeighting, HierarchicalRiskParityWeightWeighting, PluginWeightWeighting]


class PipelineBody(_PipelineBody, total=False):
    #: Rules in order, each applied to the securities that the previous rule kept. Without rules, the whole universe is kept.
    selection: t.Sequence[t.Union[ExpressionFilterRule, FieldFilterRule, CategoryFilterRule, IncludeListRule, ExcludeListRule, TopNRule, BufferedTopNRule, TopFractionRule, CumulativeCoverageRule, RangeFilterRule, MarketCapFilterRule, LiquidityFilterRule, PriceFilterRule, FreeFloatFilterRule, SeasoningFilterRule, HistoryFilterRule, VolatilityFilterRule, MomentumFilterRule, DividendFilterRule, OnePerIssuerRule, GroupLimitRule, CompositeScoreRule, MembershipFilterRule, QuotaRule, PluginFilterRule]]
    #: Treatment of events and gaps in prices.
    treatment: TreatmentSpecInput


class PipelineSpec(t.TypedDict):
    #: Rules in order, each applied to the securities that the previous rule kept. Without rules, the whole universe is kept.
    selection: t.Sequence[RuleSpec]
    #: Treatment of events and gaps in prices.
    treatment: TreatmentSpec
    #: Weighting of the selected securities.
    weighting: WeightingSpec


class PluginInputs(t.TypedDict):
    #: Numeric expression, such as `max(CLOSE, window=252)`.
    expression: str
    #: Number of trailing sessions up to the decision date. Each session has one value of the expression.
    sessions: int


class PluginParameters(t.TypedDict):
    #: Default value.
    default: t.Union[float, str, bool]
    #: Least.
    minimum: t.Optional[float]
    #: Greatest.
    maximum: t.Optional[float]
    #: Description in one or two sentences.
    help: t.Optional[str]


class Plugin(t.TypedDict):
    #: The plug-in.
    plugin_id: str
    #: Display name.
    name: str
    #: Free text.
    description: t.Optional[str]
    #: Kind of the plug-in. `datapoint`: the values are numbers. `selection`: 0 or false excludes a security. `weighting`: the values are raw weights.
    kind: t.Literal["datapoint", "selection", "weighting"]
    #: Columns that the plug-in reads, by name.
    inputs: t.Mapping[str, PluginInputs]
    #: Parameters of the class in the order of a form.
    parameters: t.Mapping[str, PluginParameters]
    #: JavaScript that defines `compute(inputs, parameters, count)`. It returns a list of `count` values, one for each security. The functions of `rows` compute on whole windows, faster than loops.
    source: str
    #: SHA-256 of the plug-in, which is part of every run that it computes.
    sha256: str
    #: Time of the last change, ISO-8601 UTC with offset.
    updated_at: str


class PluginCollection(t.TypedDict):
    #: Plug-ins by id.
    plugins: t.Sequence[ListedPlugin]
    #: Number of stored documents that are omitted because they cannot be read.
    skipped: int
    #: Number of omitted documents by cause.
    skipped_causes: SkippedCauses


class _PluginFilterParams(t.TypedDict):
    #: Name of the plug-in among the `plugins` of the document.
    plugin: str


class PluginFilterParams(_PluginFilterParams, total=False):
    """Keeps securities that a plug-in of the document keeps."""

    #: Treatment of a security without a value of the datapoint. In a ranking, an included security without a value is last.
    missing: t.Literal["exclude", "include"]


class _PluginFilterRule(t.TypedDict):
    #: Id of the rule, unique within the pipeline.
    id: str
    type: t.Literal["PluginFilter"]


class PluginFilterRule(_PluginFilterRule, total=False):
    #: Parameters of the type, by name.
    params: PluginFilterParams
    #: Parameters that are tried, in order, if the rule keeps too few securities.
    fallback: t.Sequence[RuleFallback]


class PluginPreviewValues(t.TypedDict):
    #: Asset identifier.
    identifier: str
    #: Value returned by `compute`.
    value: float


class PluginPreview(t.TypedDict):
    """Values of a plug-in, for an editor."""

    #: True if no finding is an error.
    valid: bool
    #: Session of the values; null without values.
    as_of: t.Optional[str]
    #: Number of securities of the store on the session.
    securities: int
    #: Number of securities with a value.
    valued: int
    #: Securities with a value, beginning with the largest value.
    values: t.Sequence[PluginPreviewValues]
    #: Findings, most severe first.
    findings: t.Sequence[Finding]


class _PluginPreviewRequest(t.TypedDict):
    #: Plug-in. It does not have to be stored.
    plugin: PluginUpsert


class PluginPreviewRequest(_PluginPreviewRequest, total=False):
    #: Values of parameters. Omitted parameters have their defaults.
    parameters: t.Mapping[str, t.Union[float, str, bool]]
    #: Decision date. Default: the latest date of the store.
    as_of: t.Optional[Date]
    #: Maximum number of values.
    limit: int


class _PluginUpsertInputs(t.TypedDict):
    #: Numeric expression, such as `max(CLOSE, window=252)`.
    expression: str


class PluginUpsertInputs(_PluginUpsertInputs, total=False):
    #: Number of trailing sessions up to the decision date. Each session has one value of the expression.
    sessions: int


class _PluginUpsertParameters(t.TypedDict):
    #: Default value.
    default: t.Union[float, str, bool]


class PluginUpsertParameters(_PluginUpsertParameters, total=False):
    #: Least.
    minimum: t.Optional[float]
    #: Greatest.
    maximum: t.Optional[float]
    #: Description in one or two sentences.
    help: t.Optional[str]


class _PluginUpsert(t.TypedDict):
    #: Display name.
    name: str
    #: Kind of the plug-in. `datapoint`: the values are numbers. `selection`: 0 or false excludes a security. `weighting`: the values are raw weights.
    kind: t.Literal["datapoint", "selection", "weighting"]
    #: Columns that the plug-in reads. `compute` receives them under these names as Float64Arrays, with NaN for missing values. If there are several sessions, the values of a security are adjacent, with the latest last.
    inputs: t.Mapping[str, t.Union[str, PluginUpsertInputs]]
    #: JavaScript that defines `compute(inputs, parameters, count)`. It returns a list of `count` values, one for each security. The functions of `rows` compute on whole windows, faster than loops.
    source: str


class PluginUpsert(_PluginUpsert, total=False):
    #: Free text.
    description: t.Optional[str]
    #: Parameters with their defaults, optionally with bounds and help.
    parameters: t.Mapping[str, t.Union[t.Union[float, str, bool], PluginUpsertParameters]]


class PluginWeightParams(t.TypedDict):
    """Weights in proportion to the values of a plug-in. A security with a negative or missing value is not held."""

    #: Name of the plug-in among the `plugins` of the document.
    plugin: str


class _PluginWeightWeighting(t.TypedDict):
    type: t.Literal["PluginWeight"]


class PluginWeightWeighting(_PluginWeightWeighting, total=False):
    #: Parameters of the type, by name.
    params: PluginWeightParams
    #: Maximum weight of a constituent: a number, or an expression such as min(0.09, 3 * weight_in("PARENT")), which is evaluated for each constituent. Default: no maximum. Unit: fraction.
    cap: t.Optional[t.Union[float, str, DatapointInput, ExpressionNodeInput]]
    #: Minimum weight of a security. Default: no minimum. Unit: fraction.
    floor: t.Optional[float]
    #: Maximum weights of groups.
    group_caps: t.Sequence[GroupCapInput]
    #: Reference column, such as ISSUER. `cap` and `ladder_caps` then limit the weight of each group of this column instead of each constituent. A constituent without a value is a separate group.
    cap_by: str
    #: Caps that apply if a limit is exceeded: first caps of single weights, then a cap of the total of large weights.
    ladder_caps: LadderCaps
    #: Datapoint that multiplies the raw weights. Its changes are phased in over several reviews.
    phase_in: PhaseInInput


class PortfolioBookPayload(t.TypedDict):
    #: Cash after each close.
    cash: SeriesPayload
    #: Initial capital of the portfolio.
    initial_capital: float
    #: Value after each close. The first row has the initial capital on the day before the start.
    nav: SeriesPayload
    #: portfolio-{index_id}.
    portfolio_id: str
    #: Holdings after each close, in long form. Only the most recent rows are returned.
    positions: TableFrame
    #: Number of rows of the whole table.
    positions_total: int
    #: Every trade, in long form.
    transactions: TableFrame
    #: Number of rows of the whole table. Of more than a million rows, only the latest are returned.
    transactions_total: int
    #: Weights held after each close, dates by security. Only the latest dates are returned.
    weights: TableFrame
    #: Number of dates of the whole table.
    weights_dates_total: int


class PositionBoundsParams(t.TypedDict, total=False):
    """Each weight is between two bounds. A negative lower bound allows short positions of the securities in its scope."""

    #: Smallest weight. Unit: fraction.
    lower: float
    #: Largest weight. Unit: fraction.
    upper: float
    #: Securities of the constraint. Default: all securities.
    identifiers: t.Optional[t.Sequence[str]]
    #: Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated.
    soft: t.Optional[float]
    #: Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy.
    priority: int


class _PositionBoundsRow(t.TypedDict):
    type: t.Literal["PositionBounds"]


class PositionBoundsRow(_PositionBoundsRow, total=False):
    #: Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position.
    id: str
    #: Parameters of the type, by name.
    params: PositionBoundsParams


class PreviewAsset(t.TypedDict):
    #: Asset identifier.
    identifier: str
    #: True if the security is in the index.
    included: bool
    #: Final weight; null if the security is not held.
    weight: t.Optional[float]
    #: Id of the first rule that excluded the security. Null for a selected security without a weight, and for a derived index.
    excluded_by: t.Optional[str]
    #: Position of the step that excluded the security. For a selected security without a weight, the number of steps.
    excluded_at: t.Optional[int]
    #: Weight before capping; null if the cap does not limit the weight.
    uncapped_weight: t.Optional[float]
    #: True if the cap limits the weight of the security.
    capped: bool
    #: Weight in the parent; derived indices only.
    source_weight: t.Optional[float]
    #: Solved weight, which equals `weight`; derived indices only.
    solved_weight: t.Optional[float]
    #: Solved weight less source weight; derived indices only.
    weight_delta: t.Optional[float]


class PreviewConstraint(t.TypedDict):
    #: Human-readable name.
    label: str
    #: Kind of the object.
    kind: t.Literal["eq", "ineq"]
    #: True if the bound is binding.
    binding: bool
    #: Distance to the bound in `unit`.
    slack: float
    #: Unit of the figure.
    unit: t.Literal["fraction", "count", "value"]
    #: Change of the bound if the constraint was relaxed according to its priority; null if the constraint is satisfied as defined.
    relaxed_by: t.Optional[float]


class _PreviewDocumentRequest(t.TypedDict):
    #: The definition.
    document: IndexDocumentBody


class PreviewDocumentRequest(_PreviewDocumentRequest, total=False):
    #: Decision date. Default: the base date of the document; for a derived index, the first rebalance.
    as_of: t.Optional[Date]
    #: Version of the data: a number, or the newest version known at a time (for a date: its end, in UTC).
    as_known_on: t.Union[int, str]


class PreviewLimits(t.TypedDict):
    #: Published rule of concentration.
    rule: t.Literal["UCITS_5_10_40", "UCITS_20_35", "RIC_25_5_50", "SEC_75_5_10"]
    #: Distance of the decided weights from the nearest bound. Negative beyond the bound; this does not trigger a rebalance.
    headroom: float


class PreviewOverlayExposure(t.TypedDict):
    #: Exposure after the close of resolved_date.
    exposure: float
    #: Target exposure.
    target: float
    #: Exposure after the previous close; null on the first session.
    before: t.Optional[float]
    #: Annual volatility from which the target was computed; null before the first return.
    volatility: t.Optional[float]
    #: target: the exposure is the target; max_change: the difference from the target exceeds the largest change; within_tolerance: the target is within the tolerance of the previous exposure; no_review: the session is not a review
    reason: t.Literal["target", "max_change", "within_tolerance", "no_review"]


class _PreviewOverlay(t.TypedDict):
    #: Type of the overlay.
    type: str
    #: Underlying indices.
    index_ids: t.Sequence[str]


class PreviewOverlay(_PreviewOverlay, total=False):
    #: Derivation of the exposure of a risk control; absent for other types.
    exposure: PreviewOverlayExposure


class PreviewRequest(t.TypedDict, total=False):
    #: Decision date. Default: the base date of the index; for a derived index, the first rebalance.
    as_of: t.Optional[Date]
    #: Version of the data: a number, or the newest version known at a time (for a date: its end, in UTC).
    as_known_on: t.Union[int, str]
    #: Id of a run. The request then uses the definition of the run, with every document and risk model as of the run, on the served data. Default: the stored definition.
    run_id: str


class _PreviewResponse(t.TypedDict):
    #: Version of the stored index; null for a document of the request.
    index_version: t.Optional[int]
    #: The index, or the strategy of a run.
    index_id: str
    #: Date as requested.
    as_of: str
    #: Latest session with data on or before as_of; null before the first market date of the store.
    resolved_date: t.Optional[str]
    #: Securities: first the included securities by weight, then the excluded securities by step.
    assets: t.Sequence[PreviewAsset]
    #: Final weights by identifier.
    weights: t.Mapping[str, float]
    #: Sum of the weights. It is 1 unless the index is empty, a WeightSum constraint leaves cash, or an overlay has an exposure other than 1 to its underlying securities.
    total_weight: float
    #: Applied cap; always null for a derived index.
    cap: t.Optional[float]
    #: Weight that was redistributed from capped securities.
    cap_redistributed: float
    #: Steps of the selection; null for a derived index and an overlay.
    steps: t.Optional[t.Sequence[PreviewStep]]
    #: Optimisation; null for a rule-based index and an overlay.
    solve: t.Optional[PreviewSolve]
    #: Warnings, for example about selected securities without a weight.
    findings: t.Sequence[Finding]


class PreviewResponse(_PreviewResponse, total=False):
    #: State of an overlay. Assets and weights are then its holdings after the close of resolved_date, through all underlying indices, and last its cash as `CASH/USD` (negative if money is borrowed). They sum to 1. `steps` has these holdings as its universe.
    overlay: PreviewOverlay
    #: Rule that triggers rebalances of the index on a breach.
    limits: PreviewLimits
    #: Changes of constituents between reviews (`events`) that were decided on resolved_date. Assets and weights are the result of the rules.
    replacements: t.Sequence[Replacement]


class PreviewSolve(t.TypedDict):
    #: Parent of the derived index; it cannot be changed.
    source_index_id: str
    #: Objective: an object with a type of `/optimise/objective-types` and its parameters, or only the type. A derived index accepts only the type `min_tracking_error` without an object.
    objective: str
    #: Latest rebalance of the parent on or before as_of.
    rebalance_date: str
    #: Figures of the index weights.
    before: WeightFigures
    #: Figures of the solved weights.
    after: WeightFigures
    #: Labels of binding constraints.
    binding: t.Sequence[str]
    #: Every constraint, binding or not. A row with one bound per security or group has an entry for each binding one; if none is binding, for the tightest.
    constraints: t.Sequence[PreviewConstraint]
    #: Soft bounds that the solved weights violate.
    exceeded: t.Sequence[ExceededLimit]


class PreviewStep(t.TypedDict):
    #: Position of the step. 0 is the universe, and rules follow in order.
    position: int
    #: Number of securities that remain after the step.
    remaining: int
    #: Securities that this step removed; empty for the universe.
    excluded: t.Sequence[str]
    #: Id of the rule; null for the universe.
    rule_id: t.Optional[str]
    #: Class of the rule; null for the universe.
    rule_type: t.Optional[str]


class PriceFilterParams(t.TypedDict, total=False):
    """Keeps securities with a close between two bounds."""

    #: Minimum close; null: no minimum. Unit: money in index currency.
    minimum: t.Optional[float]
    #: Maximum close; null: no maximum. Unit: money in index currency.
    maximum: t.Optional[float]
    #: Treatment of a security without a value of the datapoint. In a ranking, an included security without a value is last.
    missing: t.Literal["exclude", "include"]


class _PriceFilterRule(t.TypedDict):
    #: Id of the rule, unique within the pipeline.
    id: str
    type: t.Literal["PriceFilter"]


class PriceFilterRule(_PriceFilterRule, total=False):
    #: Parameters of the type, by name.
    params: PriceFilterParams
    #: Parameters that are tried, in order, if the rule keeps too few securities.
    fallback: t.Sequence[RuleFallback]


class PriceGapPayload(t.TypedDict):
    #: Asset identifier.
    asset_id: str
    #: Simulated session without a bar.
    date: str
    #: Session of the carried-forward price.
    priced_from: str


class PriceGaps(t.TypedDict):
    """Missing prices of a security."""

    #: Asset identifier.
    identifier: str
    #: Date of the first price.
    start: str
    #: Date of the last price.
    end: str
    #: Number of dates without a price between the first and the last price.
    missing: int
    #: Largest number of consecutive dates without a price.
    longest: int
    #: First date without a price.
    first_missing: str
    #: Last date without a price.
    last_missing: str
    #: The latest 50 dates without a price, ascending.
    dates: t.Sequence[str]


class PriceOverride(t.TypedDict):
    #: Security.
    identifier: str
    #: Session of the price.
    date: str
    #: CLOSE that replaces the CLOSE of the source.
    price: float
    #: CLOSE of the source at the time of the override; null if there was none.
    source_price: t.Optional[float]
    #: Reason, including the source of the price.
    reason: str
    #: Name of the key; `local` without authentication.
    author: str
    #: Id of the key; null without authentication.
    key_id: t.Optional[str]
    #: Time of the override, ISO-8601 UTC with offset.
    at: str
    #: Approval of the decision; null if it needed none.
    approval_id: t.Optional[int]
    #: Names of the people who approved the decision.
    approved_by: t.Sequence[str]


class PriceOverrideRequest(t.TypedDict):
    #: Security of the store.
    identifier: str
    #: Session of the store.
    date: Date
    #: CLOSE that replaces the CLOSE of the source; null withdraws the override.
    price: t.Optional[float]
    #: Reason, including the source of the price.
    reason: str


class PriceOverrides(t.TypedDict):
    #: The data store.
    store_id: str
    #: Overrides in force, by date and security.
    overrides: t.Sequence[PriceOverride]


class PriceWeightParams(t.TypedDict, total=False):
    """Holds one share of each constituent, or a number of shares from a column. Weights are in proportion to prices in index currency, as in the Dow Jones Industrial Average."""

    #: Column with the number of shares of each constituent, such as a par-value or price-adjustment factor. Default: one share each.
    factor_field: t.Optional[str]
    #: Effect of a split: the number of shares does not change and the divisor does, or the shares are multiplied so that the weight does not change.
    splits: t.Literal["divisor", "keep_weight"]


class _PriceWeightWeighting(t.TypedDict):
    type: t.Literal["PriceWeight"]


class PriceWeightWeighting(_PriceWeightWeighting, total=False):
    #: Parameters of the type, by name.
    params: PriceWeightParams
    #: Maximum weight of a constituent: a number, or an expression such as min(0.09, 3 * weight_in("PARENT")), which is evaluated for each constituent. Default: no maximum. Unit: fraction.
    cap: t.Optional[t.Union[float, str, DatapointInput, ExpressionNodeInput]]
    #: Minimum weight of a security. Default: no minimum. Unit: fraction.
    floor: t.Optional[float]
    #: Maximum weights of groups.
    group_caps: t.Sequence[GroupCapInput]
    #: Reference column, such as ISSUER. `cap` and `ladder_caps` then limit the weight of each group of this column instead of each constituent. A constituent without a value is a separate group.
    cap_by: str
    #: Caps that apply if a limit is exceeded: first caps of single weights, then a cap of the total of large weights.
    ladder_caps: LadderCaps
    #: Datapoint that multiplies the raw weights. Its changes are phased in over several reviews.
    phase_in: PhaseInInput


class PricesResponse(t.TypedDict):
    #: Asset identifier.
    identifier: str
    #: Resolution served.
    interval: t.Literal["native", "weekly", "monthly"]
    #: Market data by date; null for missing values.
    prices: TableFrame


class PrincipalView(t.TypedDict):
    #: Id of the key, or `sub:` and the subject of the token; null without authentication.
    key_id: t.Optional[str]
    #: Permissions; admin includes all others.
    scopes: t.Sequence[t.Literal["read", "write", "run", "data", "publish", "audit", "admin"]]


class Procedure(t.TypedDict):
    #: Display name.
    name: str
    #: Subject of the procedure.
    kind: t.Literal["cessation", "errors", "judgement", "inputs", "review", "complaints", "conflicts", "oversight", "controls"]
    #: Markdown.
    text: str
    #: Indices to which the procedure applies. Default: all indices.
    indices: t.Optional[t.Sequence[str]]
    #: Date of the next review of the procedure.
    review_by: t.Optional[str]
    #: The procedure.
    procedure_id: str
    #: Newest version of the procedure.
    version: int
    #: Time of the last change, ISO-8601 UTC with offset.
    updated_at: str


class ProcedureCollection(t.TypedDict):
    #: Procedures by id.
    procedures: t.Sequence[Procedure]
    #: Number of stored documents that are omitted because they cannot be read.
    skipped: int
    #: Number of omitted documents by cause.
    skipped_causes: SkippedCauses


class _ProcedureDocument(t.TypedDict):
    #: Display name.
    name: str
    #: Subject of the procedure.
    kind: t.Literal["cessation", "errors", "judgement", "inputs", "review", "complaints", "conflicts", "oversight", "controls"]
    #: Markdown.
    text: str


class ProcedureDocument(_ProcedureDocument, total=False):
    #: Indices to which the procedure applies. Default: all indices.
    indices: t.Optional[t.Sequence[str]]
    #: Date of the next review of the procedure.
    review_by: t.Optional[Date]


class PublicHealth(t.TypedDict):
    """Response to a request without a key, if the service has keys."""

    status: t.Literal["live"]
    #: The running engine version.
    version: str


class PublicKey(t.TypedDict):
    #: The first 16 hexadecimal digits of the SHA-256 of the public key.
    key_id: str
    #: The 32 bytes of an Ed25519 public key, in base64.
    public_key: str
    #: Time of its creation, ISO-8601 UTC with offset.
    valid_from: str
    #: Time from which the key is no longer used; null for the current key.
    valid_until: t.Optional[str]


class PublicKeys(t.TypedDict):
    #: Oldest first.
    keys: t.Sequence[PublicKey]
    #: Number of stored documents that are omitted because they cannot be read.
    skipped: int
    #: Number of omitted documents by cause.
    skipped_causes: SkippedCauses


class Publication(t.TypedDict):
    #: Number of closes that were published for the first time.
    published: int
    #: Number of closes that were published again.
    restated: int
    #: Last published date; null if there is none.
    through: t.Optional[str]
    #: Hash of the last entry; 64 zeros for an empty log.
    head: str
    #: Id of the run that contains these closes.
    run_id: str
    #: Difference from published closes, with the decision; null if there is none.
    error: DecidedError
    #: Differences between the run and a new run of the same request; null if the run is current.
    stale: t.Optional[StaleState]


class _PublicationEntry(t.TypedDict):
    #: Number, from 1 without gaps.
    seq: int
    #: The index, or the strategy of a run.
    index_id: str
    #: Session of the close.
    date: str
    #: A restatement replaces earlier entries of its date.
    kind: t.Literal["close", "restatement"]
    #: Price return level; null if prices include dividends.
    price: t.Optional[float]
    #: Total return level.
    total: t.Optional[float]
    #: Net total return level.
    net: t.Optional[float]
    #: Market value divided by level.
    divisor: t.Optional[float]
    #: SHA-256 of the canonical JSON (RFC 8785) of the index weights at the close, by identifier.
    composition_hash: str
    #: Content hash of the data of the run.
    data_hash: t.Optional[str]
    #: Version of the definition; null if unknown.
    index_version: t.Optional[int]
    #: Version of the engine of the run.
    engine: t.Optional[str]
    #: Reason for a restatement, for a publication without price bars of some constituents, or for a difference from earlier closes that an error policy left unchanged. Null for any other close.
    reason: t.Optional[str]
    #: Time of the publication, ISO-8601 UTC with offset.
    at: str
    #: Name of the key; local without authentication.
    author: str
    #: Hash of the previous entry; 64 zeros in the first.
    previous: str
    #: SHA-256 of the canonical JSON of the entry without hash and signature.
    hash: str
    #: Key of the signature.
    key_id: str
    #: Ed25519 signature of the 32 bytes of hash, in base64.
    signature: str


class PublicationEntry(_PublicationEntry, total=False):
    #: Version of the recorded changes of the calendar that the run used; absent if there were none.
    calendar_version: int


class PublishFacts(t.TypedDict):
    """Closes that are published for the first time."""

    kind: t.Literal["publish"]
    #: The index, or the strategy of a run.
    index_id: str
    #: Run that contains the closes.
    run_id: str
    #: Number of closes that were published for the first time.
    published: int
    #: Number of closes that were published again.
    restated: int
    #: First date.
    first: str
    #: Last date.
    last: str
    #: Levels of the last date.
    close: ApprovedLevels
    #: Published close before the first new close; null if there is none.
    previous: t.Optional[ApprovedClose]


class PublishRequest(t.TypedDict, total=False):
    #: Id of a stored run. Default: the newest run.
    run_id: str
    #: Last date to publish. Default: the last date of the run. The request is refused if the run lacks a session on or before this date.
    through: Date
    #: True publishes closes with differences again.
    restate: bool
    #: Reason, which the log records. A restatement requires a reason.
    reason: str
    #: Treatment of published closes that differ from the run. Default: the publication is refused with RESTATEMENT.
    error_policy: ErrorPolicy
    #: True publishes closes for which constituents have no bar. The entries record this.
    allow_partial: bool


class PublishStep(t.TypedDict):
    """Publishes the closes of every index up to and including the session. Parents are published before the indices that depend on them. A close is published only once, even if the step is repeated."""

    type: t.Literal["publish"]
    #: Treatment of published closes that differ from the run. Default: the index is held back.
    errors: t.Optional[ErrorPolicy]
    #: True publishes closes for which constituents have no bar. The entries record this.
    allow_partial: bool


class _PublishStepInput(t.TypedDict):
    type: t.Literal["publish"]


class PublishStepInput(_PublishStepInput, total=False):
    """Publishes the closes of every index up to and including the session. Parents are published before the indices that depend on them. A close is published only once, even if the step is repeated."""

    #: Treatment of published closes that differ from the run. Default: the index is held back.
    errors: t.Optional[ErrorPolicy]
    #: True publishes closes for which constituents have no bar. The entries record this.
    allow_partial: bool


class PublishedCheck(t.TypedDict):
    """The levels of the run equal the published levels."""

    check: t.Literal["published"]
    #: Findings block the index (block), or are only reported (warn). Default: block.
    severity: t.Literal["block", "warn"]
    #: Largest difference, in basis points of the level.
    tolerance_bps: float


class _PublishedCheckInput(t.TypedDict):
    check: t.Literal["published"]


class PublishedCheckInput(_PublishedCheckInput, total=False):
    """The levels of the run equal the published levels."""

    #: Findings block the index (block), or are only reported (warn). Default: block.
    severity: t.Literal["block", "warn"]
    #: Largest difference, in basis points of the level.
    tolerance_bps: float


class PublishedError(t.TypedDict):
    """Entry of the register of errors."""

    #: Number, from 1 without gaps, counted by index.
    seq: int
    #: The index, or the strategy of a run.
    index_id: str
    #: Time of the decision, ISO-8601 UTC with offset.
    at: str
    #: Name of the key; for a schedule, its author.
    author: str
    #: `restated`: closes were published again. `announced` and `left`: published closes did not change.
    decision: t.Literal["restated", "announced", "left"]
    #: Policy of the decision; null for a decision of a person.
    policy: t.Optional[ErrorPolicy]
    #: First date with a difference.
    first: str
    #: Last date that differs.
    last: str
    #: Number of dates with a difference.
    dates: int
    #: First date with a material difference. Null if there is none, and for a decision without a policy.
    material_from: t.Optional[str]
    #: Closes that were published again.
    restated: int
    #: Largest change of a level; null if only divisor or composition differ.
    largest: t.Optional[LevelChange]
    #: Run with the difference.
    run_id: str
    #: Reason for the decision.
    reason: str
    #: Notice for clients.
    notice: str
    #: SHA-256 of the differences. Equal differences are registered once.
    digest: str


class PublishedErrors(t.TypedDict):
    #: Newest first.
    errors: t.Sequence[PublishedError]


class PublishedLog(t.TypedDict):
    #: Entries, in the order of the log.
    entries: t.Sequence[PublicationEntry]


class QuantoOverlay(t.TypedDict):
    """The return of the index in its own currency, paid in another currency, without exchange rates."""

    type: t.Literal["quanto"]
    #: Currency in which the return is paid, which is the currency of the overlay.
    to: str


class _QuotaParams(t.TypedDict):
    #: Column whose values are the groups.
    field: str
    #: Number of securities by group. Unit: securities.
    quotas: t.Mapping[str, int]


class QuotaParams(_QuotaParams, total=False):
    """Keeps a number of securities of each group, which are the best by a field. Groups without a quota are excluded."""

    #: Datapoint of the ranking within a group.
    rank_field: t.Union[str, DatapointInput, ExpressionNodeInput]
    #: True ranks the smallest values first.
    ascending: bool
    #: Treatment of a security without a value of the datapoint. In a ranking, an included security without a value is last.
    missing: t.Literal["exclude", "include"]


class _QuotaRule(t.TypedDict):
    #: Id of the rule, unique within the pipeline.
    id: str
    type: t.Literal["Quota"]


class QuotaRule(_QuotaRule, total=False):
    #: Parameters of the type, by name.
    params: QuotaParams
    #: Parameters that are tried, in order, if the rule keeps too few securities.
    fallback: t.Sequence[RuleFallback]


class _RangeFilterParams(t.TypedDict):
    #: Name of a column or derived datapoint, an expression as text or as nodes, or an object with name, window, lag, aggregate and transform.
    field: t.Union[str, DatapointInput, ExpressionNodeInput]


class RangeFilterParams(_RangeFilterParams, total=False):
    """Keeps securities with a datapoint between two bounds."""

    #: Lower bound; null: no lower bound.
    minimum: t.Optional[float]
    #: Upper bound; null: no upper bound.
    maximum: t.Optional[float]
    #: True if a value equal to a bound passes.
    inclusive: bool
    #: Treatment of a security without a value of the datapoint. In a ranking, an included security without a value is last.
    missing: t.Literal["exclude", "include"]


class _RangeFilterRule(t.TypedDict):
    #: Id of the rule, unique within the pipeline.
    id: str
    type: t.Literal["RangeFilter"]


class RangeFilterRule(_RangeFilterRule, total=False):
    #: Parameters of the type, by name.
    params: RangeFilterParams
    #: Parameters that are tried, in order, if the rule keeps too few securities.
    fallback: t.Sequence[RuleFallback]


class _RankWeightParams(t.TypedDict):
    #: Name of a column or derived datapoint, an expression as text or as nodes, or an object with name, window, lag, aggregate and transform.
    field: t.Union[str, DatapointInput, ExpressionNodeInput]


class RankWeightParams(_RankWeightParams, total=False):
    """Weights by the rank of a datapoint."""

    #: True ranks the smallest values first.
    ascending: bool
    #: `linear`: count + 1 - rank; `reciprocal`: 1 / rank.
    scheme: t.Literal["linear", "reciprocal"]


class _RankWeightWeighting(t.TypedDict):
    type: t.Literal["RankWeight"]


class RankWeightWeighting(_RankWeightWeighting, total=False):
    #: Parameters of the type, by name.
    params: RankWeightParams
    #: Maximum weight of a constituent: a number, or an expression such as min(0.09, 3 * weight_in("PARENT")), which is evaluated for each constituent. Default: no maximum. Unit: fraction.
    cap: t.Optional[t.Union[float, str, DatapointInput, ExpressionNodeInput]]
    #: Minimum weight of a security. Default: no minimum. Unit: fraction.
    floor: t.Optional[float]
    #: Maximum weights of groups.
    group_caps: t.Sequence[GroupCapInput]
    #: Reference column, such as ISSUER. `cap` and `ladder_caps` then limit the weight of each group of this column instead of each constituent. A constituent without a value is a separate group.
    cap_by: str
    #: Caps that apply if a limit is exceeded: first caps of single weights, then a cap of the total of large weights.
    ladder_caps: LadderCaps
    #: Datapoint that multiplies the raw weights. Its changes are phased in over several reviews.
    phase_in: PhaseInInput


class Readiness(t.TypedDict):
    """All checks pass and the service is not stopping."""

    status: t.Literal["ready"]
    #: Checks with their results.
    checks: t.Sequence[HealthCheck]


class RebalanceList(t.TypedDict):
    #: Version of the index or strategy; null for runs that were stored before versions existed.
    index_version: t.Optional[int]
    #: Data store on which the run was computed; null for runs that were stored without it.
    store_id: t.Optional[str]
    #: Causes why the run is stale; null if the stored run equals a new run of the request.
    stale: t.Optional[StaleState]
    #: The index, or the strategy of a run.
    index_id: str
    #: Rebalances by date, beginning with the composition in force at the start.
    rebalances: t.Sequence[RebalanceRow]
    #: Warnings of the run about rebalances that were not executed (`REBALANCE_HELD`), and about securities that left without a corporate action (`SILENT_DELISTING`). Empty if the run does not store its warnings.
    findings: t.Sequence[Finding]


class RebalancePackLiquidation(t.TypedDict):
    #: Trading days.
    days: int
    #: Fraction of the holdings that is sold within this number of days.
    share: float


class RebalancePackCapacity(t.TypedDict):
    #: Trading days.
    days: int
    #: Maximum assets under management; null if a security has no volume.
    aum: t.Optional[float]


class RebalancePack(t.TypedDict):
    #: The index, or the strategy of a run.
    index_id: str
    #: Version of the definition; null if it has no versions.
    index_version: t.Optional[int]
    #: Requested date; null if omitted.
    requested_as_of: t.Optional[str]
    #: Session with the closes at which orders are valued: the latest session with data on or before the requested date. A finding reports a session that differs from the requested date.
    as_of: str
    #: Effective date of the next rebalance or change of constituents; null if the calendar contains none.
    effective: t.Optional[str]
    #: Session of the decision.
    decision: str
    #: Target weights: the announced weights for `effective`; before the announcement, the result of the rules on as_of, or the latest solution of a derived index.
    basis: t.Literal["announced", "indicative", "in_force"]
    #: Changes of constituents that the orders execute in addition to the decision of a review: changes between reviews, and replacements of securities that left while the review was pending.
    replacements: t.Sequence[Replacement]
    #: Accounts in the order of the request; the account of `aum` is the last.
    accounts: t.Sequence[PackedAccount]
    #: Number of days that the orders require, over the traded securities.
    days_to_trade: DaysToTrade
    #: Fraction of the initial holdings of all accounts that is sold within a number of days; empty if the accounts hold nothing.
    liquidation: t.Sequence[RebalancePackLiquidation]
    #: Largest AUM that can be invested within this number of days; null if a security has no volume.
    capacity: t.Sequence[RebalancePackCapacity]
    #: Changes since the announcement; null on or before its date.
    reconciliation: t.Optional[PackReconciliation]
    #: Findings, most severe first.
    findings: t.Sequence[Finding]


class RebalancePackRequest(t.TypedDict, total=False):
    #: Session with the closes at which orders are valued. Default: the latest date of the data.
    as_of: t.Optional[Date]
    #: Accounts that the orders align with the index.
    accounts: t.Sequence[PackAccount]
    #: Adds the account AUM with this amount of cash, which buys the whole index.
    aum: t.Optional[float]
    #: Lot size in shares, by identifier. The resulting holdings are multiples of the lot. Default: 1.
    lot_sizes: t.Mapping[str, int]
    #: Maximum fraction of the daily volume that is traded.
    participation: float
    #: Number of sessions with a price bar in the mean volume.
    adv_sessions: int
    #: Trading costs.
    cost: PackCost


class RebalancePricingPayload(t.TypedDict):
    #: Rebalance date of the schedule.
    date: str
    #: Session of the prices.
    priced_from: str


class RebalanceRow(t.TypedDict):
    #: Date on which the weights took effect.
    date: str
    #: Trigger of the rebalance: the schedule, a breach with `treatment.on_breach`, or a change of constituents by `events`.
    cause: t.Literal["schedule", "breach", "replacement", "fast_entry", "fast_exit"]
    #: Review that decided the rebalance, or the first of several reviews on the date. Null for a change between reviews, and if the run does not store the reviews.
    review: t.Optional[str]
    #: Reviews that decided the rebalance, in order. Null where `review` is null.
    reviews: t.Optional[t.Sequence[str]]
    #: Completed fraction of the rebalance after this close; null if the run does not store the fraction.
    phase: t.Optional[float]
    #: Dates of the schedule that this rebalance executes: its own date, and dates of closed days that moved to its session.
    schedule_dates: t.Sequence[str]
    #: Securities traded at the price of an earlier session.
    stale_fills: t.Sequence[StaleFillPayload]
    #: Session whose data decided the weights; null if the run does not store the session.
    decision_date: t.Optional[str]
    #: Session of the trades; null for a composition that was in force before the run.
    traded_on: t.Optional[str]
    #: Securities with a weight above 0.
    constituents: int
    #: Securities with a position, long or short.
    gross_constituents: int
    #: Number of constituents that were not held before; at the first rebalance, all constituents.
    added: int
    #: The added securities with the largest weights, at most 5.
    largest_added: t.Sequence[str]
    #: Number of securities that were held before and not afterwards.
    removed: int
    #: The removed securities with the largest weights before, at most 5.
    largest_removed: t.Sequence[str]
    #: Maximum weight of a security; null if there is none.
    cap: t.Optional[float]
    #: Number of securities held at the cap.
    capped: int
    #: Weight that was redistributed from capped securities when the weights were decided.
    redistributed: float
    #: One-way turnover: half the sum of the absolute weight changes on that session. Null for the first purchase and before the run.
    turnover: t.Optional[float]
    #: Costs of that session as a fraction of the value at the previous close. The export `rebalances` contains them as an amount of money. Null before the second date.
    cost_fraction: t.Optional[float]


class RebalanceSnapshot(t.TypedDict):
    #: Date on which the weights took effect.
    date: str
    #: Dates of the schedule that this rebalance executes: its own date, and dates of closed days that moved to its session.
    schedule_dates: t.Sequence[str]
    #: Applied weights, with a sum of 1. The cash that an overlay holds or owes is `CASH/USD` in that currency.
    weights: t.Mapping[str, float]
    #: Weights before capping. They equal the weights if no cap was applied.
    uncapped_weights: t.Mapping[str, float]
    #: Effective maximum weight of a security, if there is one.
    cap: t.Optional[float]
    #: Securities held at the cap.
    capped: t.Sequence[str]
    #: Weight that was redistributed from capped securities: the sum of the positive differences uncapped_weights - weights.
    redistributed: float
    #: Securities traded at the price of an earlier session, which is at most max_stale_sessions old.
    stale_fills: t.Sequence[StaleFillPayload]
    #: Publication date of the composition, if earlier than date.
    announced: t.Optional[str]
    #: Weights that were decided from data up to reference_date. Null if they equal the weights, and in runs of earlier versions that do not store them.
    target_weights: t.Optional[t.Mapping[str, float]]
    #: Last date of the data that selection and weighting read; null in runs of earlier versions that do not store it.
    reference_date: t.Optional[str]
    #: Date of the closes with which target weights were converted to index shares; null in runs of earlier versions that do not store it.
    pricing_date: t.Optional[str]
    #: Review that decided the composition, or the first of several reviews on the date. `rebalance` is the review of the document itself. Null in runs of earlier versions that do not store it.
    review: t.Optional[str]
    #: Every review that ran on the date, in order; null in runs of earlier versions that do not store them.
    reviews: t.Optional[t.Sequence[str]]
    #: Completed fraction of the rebalance after this close; 1 for a rebalance that takes effect at once. Null in runs of earlier versions that do not store it.
    phase: t.Optional[float]
    #: Index shares at the effective close: weight times market value, divided by price, with divisor 1 on the base date. Null for strategies and overlays, and in older runs.
    index_shares: t.Optional[t.Mapping[str, float]]
    #: Index shares divided by float-adjusted shares; null for a security without a share count.
    weighting_factor: t.Optional[t.Mapping[str, t.Optional[float]]]
    #: Trigger of the rebalance: the schedule, a breach with `treatment.on_breach`, or a change of constituents by `events`. Null in runs of earlier versions that do not store it.
    cause: t.Optional[t.Literal["schedule", "breach", "replacement", "fast_entry", "fast_exit"]]


class _RebalanceSpec(t.TypedDict):
    #: Frequency of rebalances.
    frequency: t.Literal["none", "daily", "weekly", "monthly", "quarterly", "semi_annual", "annual", "custom"]
    #: Day within each period.
    anchor: t.Literal["first_session", "last_session", "third_friday", "nth_weekday", "day_of_month"]
    #: Months from 1 to 12. Default: the months of the frequency.
    months: t.Optional[t.Sequence[int]]
    #: Weekday: 0 is Monday, 4 is Friday.
    weekday: t.Optional[int]
    #: Number of the weekday in the month, from 1. 5 is the last one.
    nth: t.Optional[int]
    #: Day of the month. In a shorter month, the last day is used.
    day: t.Optional[int]
    #: Treatment of a date that is not a session: it moves to the next or the previous session. `unadjusted` keeps the day and uses prices of the previous session.
    roll: t.Literal["following", "preceding", "unadjusted"]
    #: Number of sessions from the decision to the effective date. Unit: sessions.
    effective_lag: int
    #: Target weights are converted to index shares at the closes of the pricing date, and drift until the effective date (shares), or apply exactly at the effective close (weights).
    weights_as: t.Literal["shares", "weights"]
    #: Effective dates, YYYY-MM-DD.
    dates: t.Sequence[str]


class RebalanceSpec(_RebalanceSpec, total=False):
    #: Date up to which selection and weighting read data. Default: the notice in sessions before the effective date.
    reference: DateRule
    #: Announcement date, on or after the reference date and before the effective date. Default: the reference date.
    announcement: DateRule
    #: Pricing date, at whose closes target weights are converted to index shares. Default: the reference date.
    pricing_date: DateRule
    #: Closes over which the rebalance is spread, beginning with the effective date. Default: one close.
    phase: PhaseSpec


class RebalanceSpecInput(t.TypedDict, total=False):
    #: Frequency of rebalances.
    frequency: t.Literal["none", "daily", "weekly", "monthly", "quarterly", "semi_annual", "annual", "custom"]
    #: Day within each period.
    anchor: t.Literal["first_session", "last_session", "third_friday", "nth_weekday", "day_of_month"]
    #: Months from 1 to 12. Default: the months of the frequency.
    months: t.Optional[t.Sequence[int]]
    #: Weekday: 0 is Monday, 4 is Friday.
    weekday: t.Optional[int]
    #: Number of the weekday in the month, from 1. 5 is the last one.
    nth: t.Optional[int]
    #: Day of the month. In a shorter month, the last day is used.
    day: t.Optional[int]
    #: Treatment of a date that is not a session: it moves to the next or the previous session. `unadjusted` keeps the day and uses prices of the previous session.
    roll: t.Literal["following", "preceding", "unadjusted"]
    #: Number of sessions from the decision to the effective date. Unit: sessions.
    effective_lag: int
    #: Target weights are converted to index shares at the closes of the pricing date, and drift until the effective date (shares), or apply exactly at the effective close (weights).
    weights_as: t.Literal["shares", "weights"]
    #: Date up to which selection and weighting read data. Default: the notice in sessions before the effective date.
    reference: DateRule
    #: Announcement date, on or after the reference date and before the effective date. Default: the reference date.
    announcement: DateRule
    #: Pricing date, at whose closes target weights are converted to index shares. Default: the reference date.
    pricing_date: DateRule
    #: Closes over which the rebalance is spread, beginning with the effective date. Default: one close.
    phase: PhaseSpec
    #: Effective dates, YYYY-MM-DD.
    dates: t.Sequence[Date]


class RebalanceView(t.TypedDict):
    #: Version of the index or strategy; null for runs that were stored before versions existed.
    index_version: t.Optional[int]
    #: Data store on which the run was computed; null for runs that were stored without it.
    store_id: t.Optional[str]
    #: Causes why the run is stale; null if the stored run equals a new run of the request.
    stale: t.Optional[StaleState]
    #: The index, or the strategy of a run.
    index_id: str
    #: The requested date.
    requested_date: str
    #: Date on which the weights took effect.
    date: str
    #: Trigger of the rebalance: the schedule, a breach with `treatment.on_breach`, or a change of constituents by `events`.
    cause: t.Literal["schedule", "breach", "replacement", "fast_entry", "fast_exit"]
    #: Review that decided the rebalance, or the first of several reviews on the date. Null for a change between reviews, and if the run does not store the reviews.
    review: t.Optional[str]
    #: Reviews that decided the rebalance, in order. Null where `review` is null.
    reviews: t.Optional[t.Sequence[str]]
    #: Completed fraction of the rebalance after this close; null if the run does not store the fraction.
    phase: t.Optional[float]
    #: Dates of the schedule that this rebalance executes: its own date, and dates of closed days that moved to its session.
    schedule_dates: t.Sequence[str]
    #: Securities traded at the price of an earlier session.
    stale_fills: t.Sequence[StaleFillPayload]
    #: Session whose data decided the weights; null if the run does not store the session.
    decision_date: t.Optional[str]
    #: Session of the trades; null for a composition that was in force before the run.
    traded_on: t.Optional[str]
    #: Securities with a weight above 0.
    constituents: int
    #: Securities with a position, long or short.
    gross_constituents: int
    #: Number of constituents that were not held before; at the first rebalance, all constituents.
    added: int
    #: The added securities with the largest weights, at most 5.
    largest_added: t.Sequence[str]
    #: Number of securities that were held before and not afterwards.
    removed: int
    #: The removed securities with the largest weights before, at most 5.
    largest_removed: t.Sequence[str]
    #: Maximum weight of a security; null if there is none.
    cap: t.Optional[float]
    #: Number of securities held at the cap.
    capped: int
    #: Weight that was redistributed from capped securities when the weights were decided.
    redistributed: float
    #: One-way turnover: half the sum of the absolute weight changes on that session. Null for the first purchase and before the run.
    turnover: t.Optional[float]
    #: Costs of that session as a fraction of the value at the previous close. The export `rebalances` contains them as an amount of money. Null before the second date.
    cost_fraction: t.Optional[float]
    #: Date of the previous rebalance; null for the first.
    previous: t.Optional[str]
    #: Date of the next rebalance; null for the last.
    next: t.Optional[str]
    #: Securities held before or after, sorted by weight and identifier.
    names: t.Sequence[RebalancedName]
    #: Orders of the session that could not be filled.
    unfilled: t.Sequence[UnfilledOrderPayload]


class RebalancedName(t.TypedDict):
    #: Asset identifier.
    identifier: str
    #: Weight just before the trades; null before the run.
    before: t.Optional[float]
    #: Weight after the close.
    after: float
    #: Weight after the close minus weight before the trades.
    change: t.Optional[float]
    #: Decided weight.
    target: float
    #: Weight before capping.
    uncapped: float
    #: True if the cap limits the weight of the security.
    capped: bool
    #: Traded value, negative for a sale. 0 without a trade; null if the run does not store it.
    trade: t.Optional[float]
    #: Price of the trade; null if there was no trade.
    price: t.Optional[float]


class ReceivedShares(t.TypedDict):
    #: Asset identifier.
    identifier: str
    #: Number of shares received for each share held before.
    ratio: float
    #: Weight of the received shares, in addition to the previous holding of that security.
    weight: float


class _RecentTrade(t.TypedDict):
    #: Asset identifier.
    identifier: str
    #: The date.
    date: Date
    #: Shares bought; negative for a sale.
    shares: float
    #: Price per share.
    price: float


class RecentTrade(_RecentTrade, total=False):
    #: Cost basis per share of a sale. A sale without it is treated as a sale at a loss.
    cost: float


class ReconciledAccount(t.TypedDict):
    #: Display name.
    name: str
    #: Value of cash and holdings at the closes of the announcement.
    value_announced: float
    #: All securities with an order on either date, by identifier.
    orders: t.Sequence[ReconciledOrder]


class ReconciledOrder(t.TypedDict):
    #: Asset identifier.
    identifier: str
    #: Shares of the orders of the announcement; negative for a sale.
    shares_announced: float
    #: Shares of the orders of as_of.
    shares: float
    #: Shares of the orders of as_of less shares of the orders of the announcement.
    change: float
    #: Close of the announcement, on the share basis of as_of.
    price_announced: float
    #: Close of as_of.
    price: float


class ReconciliationCheck(t.TypedDict):
    #: Display name.
    name: str
    #: Description of the identity.
    meaning: str
    #: Recomputed value; null for a comparison of bytes.
    left: t.Optional[float]
    #: Value that `left` must equal; null for a comparison of bytes.
    right: t.Optional[float]
    #: left less right; 0 or 1 for a comparison of bytes, and 1 if a value is not a number.
    residual: float
    #: Maximum difference, relative to the larger value, or to 1 if both values are smaller.
    tolerance: float
    #: True if both sides are equal within the tolerance.
    holds: bool


class ReconciliationView(t.TypedDict):
    #: Version of the index or strategy; null for runs that were stored before versions existed.
    index_version: t.Optional[int]
    #: Data store on which the run was computed; null for runs that were stored without it.
    store_id: t.Optional[str]
    #: Causes why the run is stale; null if the stored run equals a new run of the request.
    stale: t.Optional[StaleState]
    #: The index, or the strategy of a run.
    index_id: str
    #: True if every check succeeds.
    reconciles: bool
    #: Checks with their results.
    checks: t.Sequence[ReconciliationCheck]
    #: Data that is not checked because runs of earlier versions do not store it, one sentence each.
    not_compared: t.Sequence[str]


class RecordedCalendarClosures(t.TypedDict):
    #: Code of the calendar.
    calendar: str
    #: Name of the exchange.
    name: str
    #: Newest version of the changes; 0 if none were ever recorded.
    version: int
    #: Time of the last write.
    updated_at: t.Optional[str]
    #: Recorded changes by date.
    changes: t.Sequence[SessionChange]
    #: True if nothing was stored.
    dry_run: bool
    #: Effect of the changes.
    effect: ClosureEffect


class ReferenceEntry(t.TypedDict):
    #: Asset identifier.
    identifier: str
    #: False if the identifier is unknown. Its fields are then empty, and the request does not fail.
    found: bool
    #: Requested columns; null for a missing value.
    fields: t.Mapping[str, t.Optional[t.Union[str, float, bool]]]


class ReferenceResponse(t.TypedDict):
    #: Asset identifier.
    identifier: str
    #: Every reference column of the store, as known on as_of.
    fields: t.Mapping[str, t.Optional[t.Union[str, float, bool]]]
    #: Universes that contain the security.
    universes: t.Sequence[UniverseMembership]


class RefreshJobStatus(t.TypedDict):
    #: {kind}:{id}, for example backtest:LARGE-100.
    job_id: str
    kind: t.Literal["refresh"]
    #: Order in which waiting jobs start.
    priority: t.Literal["high", "normal", "low"]
    #: pending -> running -> succeeded, failed or cancelled. Terminal states never change.
    status: t.Literal["pending", "running", "succeeded", "failed", "cancelled"]
    #: Completed fraction: 0 while pending, exactly 1 after success. It never decreases during an attempt.
    progress: float
    #: Current step.
    message: str
    #: Error of the job; only if it failed.
    error: t.Optional[ErrorDetail]
    #: Time of the submission, ISO-8601 UTC with offset.
    created_at: str
    #: Start of the current attempt.
    started_at: t.Optional[str]
    #: Time of the end, ISO-8601 UTC with offset; null while it has not ended.
    finished_at: t.Optional[str]
    #: Time of the last heartbeat of the running attempt.
    heartbeat_at: t.Optional[str]
    #: Number of starts, which is recorded before the work starts.
    attempt: int
    #: Latest attempts in order, at most eleven. The last one is the current attempt.
    attempts: t.Sequence[JobAttempt]
    #: Request body as it was accepted.
    request: t.Any
    #: SHA-256 of all inputs except the market.
    input_hash: str
    #: X-Request-Id of the submission, which log lines of the job contain. Null if the service submitted the job.
    request_id: t.Optional[str]
    #: Trace of the submission, from its header traceparent.
    trace_id: t.Optional[str]
    #: Addresses that are notified when the job ends.
    callbacks: t.Sequence[JobCallback]
    #: Result of the job, if it succeeded. Null if the run of a backtest was deleted.
    result: t.Optional[RefreshResult]


class RefreshRequest(t.TypedDict, total=False):
    #: Last date to load. Default: the latest date of the source. Later dates in the store do not change, even with `full`.
    until: t.Optional[Date]
    #: True reads every value from the source and reports restatements. By default, later bars and actions are added. If the source has changed the history of a security, its stored bars and actions do not change, unless the change is a split.
    full: bool
    #: True reports the changes of a refresh without storing or serving them.
    dry_run: bool
    #: True also reads a folder or a database that is not active; the store stays inactive. By default such a refresh is refused with STORE_NOT_SERVED, because an activation reads the source again. Without effect on other stores.
    load: bool
    #: Finding codes that reject the whole refresh. The job then fails with REFRESH_REJECTED before anything is stored or served. Findings of the refresh, and new data warnings of the store, are considered.
    fail_on: t.Union[FindingCode, t.Sequence[FindingCode]]


class RefreshResultDatasets(t.TypedDict):
    #: Number of new rows, and of rows with a later state, such as a membership that has ended or an announced action that is paid.
    added: int
    #: Number of rows in the store whose values have changed.
    changed: int
    #: Number of rows in the store that the source no longer contains.
    removed: int


class RefreshResultRestatements(t.TypedDict):
    #: Name of the table.
    dataset: t.Literal["market", "reference", "corporate_actions", "universes", "series"]
    #: Asset identifier.
    identifier: str
    #: The date.
    date: t.Optional[str]
    #: The column.
    column: str
    #: Value before the change.
    before: t.Optional[t.Union[str, float, bool]]
    #: Value after the change.
    after: t.Optional[t.Union[str, float, bool]]


class RefreshResultLeftOut(t.TypedDict):
    #: Number of new rows, and of rows with a later state, such as a membership that has ended or an announced action that is paid.
    added: int
    #: Number of rows in the store whose values have changed.
    changed: int
    #: Number of rows in the store that the source no longer contains.
    removed: int
    #: New columns with values on dates that the store already has.
    columns: t.Sequence[str]
    #: New securities with bars on these dates, at most 20.
    identifiers: t.Sequence[str]
    #: Total number.
    identifiers_total: int


class RefreshResultSplitRestatements(t.TypedDict):
    #: Asset identifier.
    identifier: str
    #: Number of shares after the split per share before it.
    ratio: float
    #: First date with prices that are not divided; null if there is none yet.
    date: t.Optional[str]


class RefreshResultRejectedBars(t.TypedDict):
    #: Number of new rows, and of rows with a later state, such as a membership that has ended or an announced action that is paid.
    added: int
    #: Number of rows in the store whose values have changed.
    changed: int
    #: Number of rows in the store that the source no longer contains.
    removed: int


class RefreshResultRejectedCorporateActions(t.TypedDict):
    #: Number of new rows, and of rows with a later state, such as a membership that has ended or an announced action that is paid.
    added: int
    #: Number of rows in the store whose values have changed.
    changed: int
    #: Number of rows in the store that the source no longer contains.
    removed: int


class RefreshResultRejectedFirst(t.TypedDict):
    #: Name of the table.
    dataset: t.Literal["market", "reference", "corporate_actions", "universes", "series"]
    #: Asset identifier.
    identifier: str
    #: The date.
    date: t.Optional[str]
    #: The column.
    column: str
    #: Value before the change.
    before: t.Optional[t.Union[str, float, bool]]
    #: Value after the change.
    after: t.Optional[t.Union[str, float, bool]]


class RefreshResultRejected(t.TypedDict):
    #: Asset identifier.
    identifier: str
    #: Number of bars of the history that differ in the source.
    bars: RefreshResultRejectedBars
    #: Number of corporate actions of the history that differ in the source.
    corporate_actions: RefreshResultRejectedCorporateActions
    #: Number of later bars that are not accepted.
    held_back: int
    #: The first differences, at most 3.
    first: t.Sequence[RefreshResultRejectedFirst]


class RefreshResult(t.TypedDict):
    #: The data store.
    store_id: str
    #: Number of new rows of all datasets.
    rows_added: int
    #: Number of rows of all datasets that the source has changed or removed.
    rows_changed: int
    #: Accepted changes, by dataset.
    datasets: t.Mapping[str, RefreshResultDatasets]
    #: Number of new dates.
    dates_added: int
    #: Number of new securities.
    identifiers_added: int
    #: First date.
    start: str
    #: Last date.
    end: str
    #: Changed and removed values, beginning with market data, by date, identifier and column; at most 1000. The column of an action or a membership includes its type or universe: DIVIDEND.value.
    restatements: t.Sequence[RefreshResultRestatements]
    #: Number of changed values.
    restatements_total: int
    #: Differences of bars on dates that are already in the store; null if there are none, or with full.
    left_out: t.Optional[RefreshResultLeftOut]
    #: Securities with a history that was restated for a split. Their bars and actions are accepted.
    split_restatements: t.Sequence[RefreshResultSplitRestatements]
    #: Securities whose history has changed in the source; at most 200. Their stored bars and actions do not change, and no new ones are added.
    rejected: t.Sequence[RefreshResultRejected]
    #: Total number.
    rejected_total: int
    #: True if nothing was stored or served.
    dry_run: bool
    #: SPLIT_RESTATED and HISTORY_CHANGED by security; HISTORY_CHANGED for other datasets; LATE_BARS; every data warning that the refresh causes, such as PRICE_JUMP; PARTIAL_DATE and GAP_LONG of the whole market also for the last dates before the refresh.
    findings: t.Sequence[Finding]


class _RefreshStep(t.TypedDict):
    type: t.Literal["refresh"]
    #: Finding codes that reject the whole refresh.
    fail_on: t.Sequence[t.Literal["REQUIRED", "WRONG_TYPE", "OUT_OF_RANGE", "NOT_IN_CHOICES", "UNKNOWN_FIELD", "UNKNOWN_TYPE", "UNKNOWN_PARAMETER", "MISSING_PARAMETER", "DUPLICATE_ID", "DUPLICATE_ROW_ID", "BAD_DATE", "BAD_IDENTIFIER", "ID_MISMATCH", "INVALID_RANGE", "PIPELINE_XOR_DERIVATION", "IMMUTABLE_FIELD", "UNKNOWN_OBJECTIVE", "UNKNOWN_CALENDAR", "UNKNOWN_INDEX", "RUN_NOT_FOUND", "RISK_MODEL_NOT_FOUND", "NO_DATA_IN_RANGE", "CIRCULAR_REFERENCE", "EMPTY_RANGE", "NO_EFFECT", "DEFAULT_TAKEN", "WEIGHTS_NOT_ONE", "RETURNS_DIFFER", "CURRENCIES_DIFFER", "VALUE_TYPE_MISMATCH", "UNKNOWN_FIELD_NAME", "BAD_EXPRESSION", "BAD_QUERY", "UNKNOWN_FUNCTION", "UNIT_MISMATCH", "CAP_INFEASIBLE", "NOT_IN_INDEX", "UNKNOWN_IDENTIFIER", "BENCHMARK_IS_SELF", "UNKNOWN_BLOCK_KIND", "PARENT_CHANGED", "NO_WEIGHT_DATA", "REBALANCE_HELD", "NO_REPLACEMENT", "CONSTRAINT_RELAXED", "LIMIT_NOT_KEPT", "SILENT_DELISTING", "RISK_FALLBACK_IDENTITY", "CHOICE_NOT_PROVEN", "FX_MISSING", "NO_RATE", "RIGHTS_NOT_ADJUSTED", "MISSING_COLUMN", "COLUMN_IGNORED", "ADJUSTMENT_UNEXPLAINED", "NOT_A_NUMBER", "NON_POSITIVE_PRICE", "DUPLICATE_KEY", "UNKNOWN_ACTION_TYPE", "BAD_RATIO", "OVERLAPPING_MEMBERSHIP", "EMPTY_DATASET", "UNREADABLE_FILE", "DAMAGED_FILE", "LOCATION_NOT_ALLOWED", "CALLBACK_NOT_ALLOWED", "TARGET_NOT_ALLOWED", "LOCATION_NOT_FOUND", "MORE_FINDINGS", "CONSTRAINT_SET_NOT_FOUND", "WATCHLIST_NOT_FOUND", "PLUGIN_NOT_FOUND", "PLUGIN_FAULT", "PRICE_JUMP", "GAP_LONG", "ACTION_WITHOUT_PRICE", "ACTION_CONFLICT", "ACTION_DATES", "ACTION_SIZE", "UNKNOWN_CURRENCY", "STALE_TAIL", "PARTIAL_DATE", "PRICE_BASIS", "NO_DIVIDENDS", "CURRENCY_ASSUMED", "FX_CROSSED", "HISTORY_CHANGED", "DATES_ADDED", "SPLIT_RESTATED", "LATE_BARS", "BAR_CORRECTED", "NOT_A_SESSION", "DIFFERENT_DATA", "WINDOW_CUT", "STALE_FILL", "NOT_ANNOUNCED", "TOO_FEW_NAMES", "JOINT_ESTIMATE", "FRONTIER_SCOPE", "LOOK_AHEAD", "MODEL_LACKS_NAMES"]]


class RefreshStep(_RefreshStep, total=False):
    """Refreshes the active store, or another data store, from its source. The day waits until the store has prices of the session."""

    #: Data store. Default: the active store.
    store_id: t.Optional[str]


class _RefreshStepInput(t.TypedDict):
    type: t.Literal["refresh"]


class RefreshStepInput(_RefreshStepInput, total=False):
    """Refreshes the active store, or another data store, from its source. The day waits until the store has prices of the session."""

    #: Data store. Default: the active store.
    store_id: t.Optional[str]
    #: Finding codes that reject the whole refresh.
    fail_on: t.Sequence[t.Literal["REQUIRED", "WRONG_TYPE", "OUT_OF_RANGE", "NOT_IN_CHOICES", "UNKNOWN_FIELD", "UNKNOWN_TYPE", "UNKNOWN_PARAMETER", "MISSING_PARAMETER", "DUPLICATE_ID", "DUPLICATE_ROW_ID", "BAD_DATE", "BAD_IDENTIFIER", "ID_MISMATCH", "INVALID_RANGE", "PIPELINE_XOR_DERIVATION", "IMMUTABLE_FIELD", "UNKNOWN_OBJECTIVE", "UNKNOWN_CALENDAR", "UNKNOWN_INDEX", "RUN_NOT_FOUND", "RISK_MODEL_NOT_FOUND", "NO_DATA_IN_RANGE", "CIRCULAR_REFERENCE", "EMPTY_RANGE", "NO_EFFECT", "DEFAULT_TAKEN", "WEIGHTS_NOT_ONE", "RETURNS_DIFFER", "CURRENCIES_DIFFER", "VALUE_TYPE_MISMATCH", "UNKNOWN_FIELD_NAME", "BAD_EXPRESSION", "BAD_QUERY", "UNKNOWN_FUNCTION", "UNIT_MISMATCH", "CAP_INFEASIBLE", "NOT_IN_INDEX", "UNKNOWN_IDENTIFIER", "BENCHMARK_IS_SELF", "UNKNOWN_BLOCK_KIND", "PARENT_CHANGED", "NO_WEIGHT_DATA", "REBALANCE_HELD", "NO_REPLACEMENT", "CONSTRAINT_RELAXED", "LIMIT_NOT_KEPT", "SILENT_DELISTING", "RISK_FALLBACK_IDENTITY", "CHOICE_NOT_PROVEN", "FX_MISSING", "NO_RATE", "RIGHTS_NOT_ADJUSTED", "MISSING_COLUMN", "COLUMN_IGNORED", "ADJUSTMENT_UNEXPLAINED", "NOT_A_NUMBER", "NON_POSITIVE_PRICE", "DUPLICATE_KEY", "UNKNOWN_ACTION_TYPE", "BAD_RATIO", "OVERLAPPING_MEMBERSHIP", "EMPTY_DATASET", "UNREADABLE_FILE", "DAMAGED_FILE", "LOCATION_NOT_ALLOWED", "CALLBACK_NOT_ALLOWED", "TARGET_NOT_ALLOWED", "LOCATION_NOT_FOUND", "MORE_FINDINGS", "CONSTRAINT_SET_NOT_FOUND", "WATCHLIST_NOT_FOUND", "PLUGIN_NOT_FOUND", "PLUGIN_FAULT", "PRICE_JUMP", "GAP_LONG", "ACTION_WITHOUT_PRICE", "ACTION_CONFLICT", "ACTION_DATES", "ACTION_SIZE", "UNKNOWN_CURRENCY", "STALE_TAIL", "PARTIAL_DATE", "PRICE_BASIS", "NO_DIVIDENDS", "CURRENCY_ASSUMED", "FX_CROSSED", "HISTORY_CHANGED", "DATES_ADDED", "SPLIT_RESTATED", "LATE_BARS", "BAR_CORRECTED", "NOT_A_SESSION", "DIFFERENT_DATA", "WINDOW_CUT", "STALE_FILL", "NOT_ANNOUNCED", "TOO_FEW_NAMES", "JOINT_ESTIMATE", "FRONTIER_SCOPE", "LOOK_AHEAD", "MODEL_LACKS_NAMES"]]


class RelativeMetricsPayload(t.TypedDict):
    #: The benchmark as written in the request.
    reference: BenchmarkRef
    #: First common date, as a full timestamp.
    start: str
    #: Last common date, as a full timestamp.
    end: str
    #: Number of common dates.
    observations: int
    #: Level, 100 at the start.
    level: SeriesPayload
    #: Return of the benchmark over the same dates.
    benchmark_return: float
    #: Last level divided by the first, less 1.
    total_return: float
    #: Return of the portfolio less the return of the benchmark.
    excess_return: float
    #: Covariance of the returns with the returns of the reference, divided by the variance of the returns of the reference.
    beta: float
    #: Correlation of the returns.
    correlation: float
    #: Annualised standard deviation of return differences.
    tracking_error: float
    #: Return variant of the benchmark; `raw` for a column other than CLOSE.
    return_variant: t.Literal["price", "total", "net", "raw"]


class _RelativePositionBoundsParams(t.TypedDict):
    #: Largest multiple of the index weight. Unit: multiple.
    upper: float


class RelativePositionBoundsParams(_RelativePositionBoundsParams, total=False):
    """Each weight is between two multiples of its index weight."""

    #: Smallest multiple of the index weight. Unit: multiple.
    lower: float
    #: Securities of the constraint. Default: all securities.
    identifiers: t.Optional[t.Sequence[str]]
    #: Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated.
    soft: t.Optional[float]
    #: Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy.
    priority: int


class _RelativePositionBoundsRow(t.TypedDict):
    type: t.Literal["RelativePositionBounds"]


class RelativePositionBoundsRow(_RelativePositionBoundsRow, total=False):
    #: Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position.
    id: str
    #: Parameters of the type, by name.
    params: RelativePositionBoundsParams


class RelaxEntry(t.TypedDict):
    """Constraint with the limits that are tried if the problem is infeasible."""

    #: Id of the constraint that is relaxed.
    row: str
    #: Limits that are tried in order. A number replaces the main limit of the constraint, and an object replaces the parameters that it contains.
    steps: t.Sequence[t.Union[float, t.Mapping[str, t.Any]]]


class RenderCollection(t.TypedDict):
    #: Finished renders, newest first.
    renders: t.Sequence[RenderResult]
    #: Number of renders that match, on all pages.
    total: int
    #: Number of stored documents that are omitted because they cannot be read.
    skipped: int
    #: Number of omitted documents by cause.
    skipped_causes: SkippedCauses


class RenderJobStatus(t.TypedDict):
    #: {kind}:{id}, for example backtest:LARGE-100.
    job_id: str
    kind: t.Literal["render"]
    #: Order in which waiting jobs start.
    priority: t.Literal["high", "normal", "low"]
    #: pending -> running -> succeeded, failed or cancelled. Terminal states never change.
    status: t.Literal["pending", "running", "succeeded", "failed", "cancelled"]
    #: Completed fraction: 0 while pending, exactly 1 after success. It never decreases during an attempt.
    progress: float
    #: Current step.
    message: str
    #: Error of the job; only if it failed.
    error: t.Optional[ErrorDetail]
    #: Time of the submission, ISO-8601 UTC with offset.
    created_at: str
    #: Start of the current attempt.
    started_at: t.Optional[str]
    #: Time of the end, ISO-8601 UTC with offset; null while it has not ended.
    finished_at: t.Optional[str]
    #: Time of the last heartbeat of the running attempt.
    heartbeat_at: t.Optional[str]
    #: Number of starts, which is recorded before the work starts.
    attempt: int
    #: Latest attempts in order, at most eleven. The last one is the current attempt.
    attempts: t.Sequence[JobAttempt]
    #: Request body as it was accepted.
    request: t.Any
    #: SHA-256 of all inputs except the market.
    input_hash: str
    #: X-Request-Id of the submission, which log lines of the job contain. Null if the service submitted the job.
    request_id: t.Optional[str]
    #: Trace of the submission, from its header traceparent.
    trace_id: t.Optional[str]
    #: Addresses that are notified when the job ends.
    callbacks: t.Sequence[JobCallback]
    #: Result of the job, if it succeeded. Null if the run of a backtest was deleted.
    result: t.Optional[RenderResult]


class _RenderRequest(t.TypedDict):
    #: Id of a stored template, or of a built-in template such as FACTSHEET-A4.
    template_id: str


class RenderRequest(_RenderRequest, total=False):
    #: Index or strategy whose latest run is shown by the blocks without an `index_id`, and by all blocks of a built-in template. Ignored if every block of a stored template has an `index_id`.
    index_id: t.Optional[str]
    #: Several indices in one document, each on a new page. Replaces index_id.
    index_ids: t.Optional[t.Sequence[str]]
    #: Run of each index or strategy of the report. Default: the newest run.
    run_ids: t.Optional[t.Mapping[str, str]]
    #: Template that is rendered instead of the stored one, to preview changes before they are stored. Its template_id must be that of the request.
    template: t.Optional[ReportTemplateDocumentInput]


class _RenderResult(t.TypedDict):
    #: GET /reports/renders/{render_id} returns the PDF.
    render_id: str
    #: The template.
    template_id: str
    #: Display name.
    name: str
    #: Requested index. Null for several indices, and for a template whose blocks have an index.
    index_id: t.Optional[str]
    #: Number of blocks.
    blocks: int
    #: Size of the rendered document.
    bytes: int
    #: Time of the rendering, ISO-8601 UTC with offset. It is not a date of the content.
    rendered_at: str
    #: Number of pages.
    pages: int


class RenderResult(_RenderResult, total=False):
    #: Indices and strategies that the report shows. Absent in reports of earlier versions.
    index_ids: t.Sequence[str]
    #: Last date of the runs that the report shows; the earliest of these dates if they differ. Absent without a run, and in reports of earlier versions.
    as_of: str
    #: Name of the file: template, first index and as-of date, and the id if an earlier render has this name. Only in listings.
    file_name: str


class RenderStep(t.TypedDict):
    """Renders a report of each index as PDF and keeps it with the day for delivery."""

    type: t.Literal["render"]
    #: Id of a stored template, or of a built-in template such as FACTSHEET-A4.
    template_id: str
    #: Indices of the plan that have this report. Default: all indices.
    indices: t.Optional[t.Sequence[str]]
    #: Pattern of the file name.
    name: str


class _RenderStepInput(t.TypedDict):
    type: t.Literal["render"]
    #: Id of a stored template, or of a built-in template such as FACTSHEET-A4.
    template_id: str


class RenderStepInput(_RenderStepInput, total=False):
    """Renders a report of each index as PDF and keeps it with the day for delivery."""

    #: Indices of the plan that have this report. Default: all indices.
    indices: t.Optional[t.Sequence[str]]
    #: Pattern of the file name.
    name: str


class _RepairRequest(t.TypedDict):
    #: Ids of the data warnings whose repairs are applied.
    doubts: t.Sequence[str]


class RepairRequest(_RepairRequest, total=False):
    #: Id of the new store. Default: {store_id}-repaired-{n}.
    store_id: str
    #: Display name.
    name: str
    #: True serves the new store immediately.
    activate: bool


class Replacement(t.TypedDict):
    #: Effective date. The change takes effect at its close.
    date: str
    #: `next_ranked`: the best-ranked security that the last review did not select replaced a constituent that left; `reserve`: the first security of `events.reserve` with a price replaced a constituent that left; `fast_exit`: `events.fast_exit` removed a constituent that was ranked too low; `fast_entry`: `events.fast_entry` added a new security that was ranked high enough.
    rule: t.Literal["next_ranked", "reserve", "fast_exit", "fast_entry"]
    #: Security that entered.
    entered: str
    #: Constituent that left.
    left: str
    #: Session whose data was used.
    decision_date: str
    #: Session whose data ranked the security. For `next_ranked`, the reference date of the review that did not select it. Null for a reserve list.
    ranked_on: t.Optional[str]
    #: Rank of the security that entered. For `next_ranked`, the rank among the securities that the review did not select. For `reserve`, the position in the list. Otherwise the rank by the datapoint of the rule.
    rank: int
    #: Rank of the constituent by the same datapoint. Null if it left because of an event such as a merger, or has no value.
    left_rank: t.Optional[int]


class ReplayJobStatus(t.TypedDict):
    #: {kind}:{id}, for example backtest:LARGE-100.
    job_id: str
    kind: t.Literal["replay"]
    #: Order in which waiting jobs start.
    priority: t.Literal["high", "normal", "low"]
    #: pending -> running -> succeeded, failed or cancelled. Terminal states never change.
    status: t.Literal["pending", "running", "succeeded", "failed", "cancelled"]
    #: Completed fraction: 0 while pending, exactly 1 after success. It never decreases during an attempt.
    progress: float
    #: Current step.
    message: str
    #: Error of the job; only if it failed.
    error: t.Optional[ErrorDetail]
    #: Time of the submission, ISO-8601 UTC with offset.
    created_at: str
    #: Start of the current attempt.
    started_at: t.Optional[str]
    #: Time of the end, ISO-8601 UTC with offset; null while it has not ended.
    finished_at: t.Optional[str]
    #: Time of the last heartbeat of the running attempt.
    heartbeat_at: t.Optional[str]
    #: Number of starts, which is recorded before the work starts.
    attempt: int
    #: Latest attempts in order, at most eleven. The last one is the current attempt.
    attempts: t.Sequence[JobAttempt]
    #: Request body as it was accepted.
    request: t.Any
    #: SHA-256 of all inputs except the market.
    input_hash: str
    #: X-Request-Id of the submission, which log lines of the job contain. Null if the service submitted the job.
    request_id: t.Optional[str]
    #: Trace of the submission, from its header traceparent.
    trace_id: t.Optional[str]
    #: Addresses that are notified when the job ends.
    callbacks: t.Sequence[JobCallback]
    #: Result of the job, if it succeeded. Null if the run of a backtest was deleted.
    result: t.Optional[ReplayView]


class ReplayView(t.TypedDict):
    #: The index, or the strategy of a run.
    index_id: str
    #: True if all stored data of the run was reproduced bit for bit.
    equal: bool
    #: First difference; null if the results are equal.
    first_difference: t.Optional[RunDifference]
    #: True if both runs have the same run_hash.
    inputs_equal: bool
    #: Hash of the stored run.
    stored_run_hash: str
    #: Hash of the new run.
    replayed_run_hash: str
    #: Engine of the stored run.
    stored_engine_version: str
    #: Running engine.
    replayed_engine_version: str
    #: Content hash of the store of the run.
    stored_content_hash: str
    #: Content hash of the served store.
    replayed_content_hash: str
    #: True if the stored definition has changed since the run. The replay uses the definition of the run.
    definition_changed: bool
    #: Time of the stored run.
    run_at: t.Optional[str]


#: `bar_chart`: Bars of figures of a run, or of values in the template. `chart`: Lines of a run over time. Levels are in one panel. Other lines have separate panels below it. `header`: Header of a report: a large title (default: the name of the index) and a subtitle. It also shows the last date, currency, return variant, price basis, transaction cost and state of the run. `stat_grid`: Figures of a run in a grid, or values in the template. `table`: Table of a run, or a table in the template. `text`: Paragraphs, separated by empty lines. Supported markup: `**bold**`, lists of lines that begin with `- ` or `* `, and numbered lists with `1. `.
ReportBlock = t.Union["BarChartBlock", "ChartBlock", "HeaderBlock", "StatGridBlock", "TableBlock", "TextBlock"]

#: `bar_chart`: Bars of figures of a run, or of values in the template. `chart`: Lines of a run over time. Levels are in one panel. Other lines have separate panels below it. `header`: Header of a report: a large title (default: the name of the index) and a subtitle. It also shows the last date, currency, return variant, price basis, transaction cost and state of the run. `stat_grid`: Figures of a run in a grid, or values in the template. `table`: Table of a run, or a table in the template. `text`: Paragraphs, separated by empty lines. Supported markup: `**bold**`, lists of lines that begin with `- ` or `* `, and numbered lists with `1. `.
ReportBlockInput = t.Union["BarChartBlockInput", "ChartBlockInput", "HeaderBlockInput", "StatGridBlockInput", "TableBlockInput", "TextBlockInput"]

class ReportPage(t.TypedDict):
    #: Paper size.
    size: t.Literal["A4", "LETTER", "A3"]
    #: Portrait or landscape.
    orientation: t.Literal["portrait", "landscape"]
    #: Points on every side.
    margin: float


class ReportPageInput(t.TypedDict, total=False):
    #: Paper size.
    size: t.Literal["A4", "LETTER", "A3"]
    #: Portrait or landscape.
    orientation: t.Literal["portrait", "landscape"]
    #: Points on every side.
    margin: float


class ReportTemplateCollection(t.TypedDict):
    #: Stored templates by id.
    templates: t.Sequence[ReportTemplateDocument]
    #: Templates that are generated from a run. They cannot be edited.
    built_in: t.Sequence[str]
    #: Number of stored documents that are omitted because they cannot be read.
    skipped: int
    #: Number of omitted documents by cause.
    skipped_causes: SkippedCauses


class ReportTemplateDocument(t.TypedDict):
    #: Id of the template, which is part of its URL.
    template_id: str
    #: Title of the rendered report.
    name: str
    #: Blocks, drawn from top to bottom. A template without blocks can be stored but not rendered.
    blocks: t.Sequence[ReportBlock]
    #: Size, orientation and margin of the pages.
    page: ReportPage


class _ReportTemplateDocumentInput(t.TypedDict):
    #: Id of the template, which is part of its URL.
    template_id: str
    #: Title of the rendered report.
    name: str


class ReportTemplateDocumentInput(_ReportTemplateDocumentInput, total=False):
    #: Blocks, drawn from top to bottom. A template without blocks can be stored but not rendered.
    blocks: t.Sequence[ReportBlockInput]
    #: Size, orientation and margin of the pages.
    page: ReportPageInput


class RequestingDay(t.TypedDict):
    #: The schedule.
    schedule_id: str
    #: Session.
    date: str


class RerunJobStatus(t.TypedDict):
    #: {kind}:{id}, for example backtest:LARGE-100.
    job_id: str
    kind: t.Literal["rerun"]
    #: Order in which waiting jobs start.
    priority: t.Literal["high", "normal", "low"]
    #: pending -> running -> succeeded, failed or cancelled. Terminal states never change.
    status: t.Literal["pending", "running", "succeeded", "failed", "cancelled"]
    #: Completed fraction: 0 while pending, exactly 1 after success. It never decreases during an attempt.
    progress: float
    #: Current step.
    message: str
    #: Error of the job; only if it failed.
    error: t.Optional[ErrorDetail]
    #: Time of the submission, ISO-8601 UTC with offset.
    created_at: str
    #: Start of the current attempt.
    started_at: t.Optional[str]
    #: Time of the end, ISO-8601 UTC with offset; null while it has not ended.
    finished_at: t.Optional[str]
    #: Time of the last heartbeat of the running attempt.
    heartbeat_at: t.Optional[str]
    #: Number of starts, which is recorded before the work starts.
    attempt: int
    #: Latest attempts in order, at most eleven. The last one is the current attempt.
    attempts: t.Sequence[JobAttempt]
    #: Request body as it was accepted.
    request: t.Any
    #: SHA-256 of all inputs except the market.
    input_hash: str
    #: X-Request-Id of the submission, which log lines of the job contain. Null if the service submitted the job.
    request_id: t.Optional[str]
    #: Trace of the submission, from its header traceparent.
    trace_id: t.Optional[str]
    #: Addresses that are notified when the job ends.
    callbacks: t.Sequence[JobCallback]
    #: Result of the job, if it succeeded. Null if the run of a backtest was deleted.
    result: t.Optional[RerunView]


class RerunRequest(t.TypedDict, total=False):
    #: Id of the rerun. Default: a generated id.
    rerun_id: t.Optional[str]
    #: Indices and strategies, at most 10000. Duplicates are counted once. Null: all indices and strategies with a stored run.
    ids: t.Optional[t.Sequence[str]]


class RerunRow(t.TypedDict):
    #: The index, or the strategy of a run.
    index_id: str
    #: `stored`: the index was run again. `current`: its stored run is not stale. `refused`: see `error`; its stored run is kept.
    outcome: t.Literal["stored", "current", "refused"]
    #: Id of its run; null if it was refused.
    run_id: t.Optional[str]
    #: Stored run that was stale; null if it was not run again.
    previous_run_id: t.Optional[str]
    #: Last date of its run; null if it was refused.
    end: t.Optional[str]
    #: Last date that was reused from the stale run; null if everything was computed.
    extended_from: t.Optional[str]
    #: Reason why the stale run was not extended; null if it was extended, or if the index was not run again.
    full_run_reason: t.Optional[t.Literal["definition_changed", "request_changed", "no_checkpoint", "names_changed", "history_changed", "no_new_session", "rebalance", "new_name", "holdings_diverged", "breach", "member_change", "default_changed", "overlay", "file_rewritten", "parted", "rewritten"]]
    #: Error of the backtest; only if it was refused.
    error: t.Optional[ErrorDetail]


class RerunRows(t.TypedDict):
    #: The rerun.
    rerun_id: str
    #: Rows of all blocks.
    count: int
    #: Number of the block, from 0.
    block: int
    #: Number of blocks.
    blocks: int
    #: Rows in the order of the ids.
    rows: t.Sequence[RerunRow]


class RerunView(t.TypedDict):
    #: The rerun.
    rerun_id: str
    #: Number of checked indices and strategies.
    indices: int
    #: Number of ids with a new run.
    stored: int
    #: Number of ids with a stored run that is not stale.
    current: int
    #: Number of ids that cannot be run.
    refused: int
    #: Rows in the order of the ids: the first 2000. GET /analytics/reruns/{rerun_id}/rows returns all rows in blocks.
    rows: t.Sequence[RerunRow]
    #: Version of the engine that computed the result.
    engine_version: str


class ResampledFrontierPoints(t.TypedDict):
    #: Annualised expected return.
    expected_return: float
    #: Annualised standard deviation of returns.
    volatility: float
    #: Annualised standard deviation of return differences.
    tracking_error: float
    #: Mean weights over the draws, for securities with a weight.
    weights: t.Mapping[str, float]
    #: Standard deviations of the weights over the draws, for the same securities.
    spread: t.Mapping[str, float]


class ResampledFrontier(t.TypedDict):
    #: Number of draws with a frontier.
    draws: int
    #: Points by rank.
    points: t.Sequence[ResampledFrontierPoints]


class Resampling(t.TypedDict, total=False):
    """Frontier that is averaged over draws from the estimated moments, in addition to the frontier of the estimates."""

    #: Number of histories drawn.
    draws: int
    #: Seed of the draws. Equal seeds give equal draws, for any number of workers.
    seed: int
    #: Number of returns in each history. Null: the number in the window.
    sessions: t.Optional[int]


class RestateFactsLatest(t.TypedDict):
    #: The date.
    date: str
    #: Published levels.
    before: ApprovedLevels
    #: New levels.
    after: ApprovedLevels


class RestateFacts(t.TypedDict):
    """Closes that are published again with other figures."""

    kind: t.Literal["restate"]
    #: The index, or the strategy of a run.
    index_id: str
    #: Run that contains the closes.
    run_id: str
    #: Number of closes that were published for the first time.
    published: int
    #: Number of closes that were published again.
    restated: int
    #: First date.
    first: str
    #: Last date.
    last: str
    #: Levels of the last date.
    close: ApprovedLevels
    #: Published close before the first new close; null if there is none.
    previous: t.Optional[ApprovedClose]
    #: Restated dates on which a level changes by more than rounding (1e-12).
    levels_changed: int
    #: Last restated close.
    latest: RestateFactsLatest
    #: Largest change of a level; null if only divisor or composition differ.
    largest: t.Optional[LevelChange]
    #: Reason of the restatement.
    reason: t.Optional[str]


class ReturnStatistics(t.TypedDict):
    #: sqrt(sessions per year x mean of min(return, 0)^2). A fraction.
    downside_volatility: float
    #: Mean return x sessions per year / downside volatility; null if no return is negative.
    sortino_ratio: t.Optional[float]
    #: Mean loss of the worst 5% of the sessions (their number is rounded up); positive for a loss. A fraction.
    cvar_95: float
    #: Third central moment divided by the cubed population standard deviation; null without variation.
    skewness: t.Optional[float]
    #: Fraction of the sessions with a positive return. A fraction.
    hit_rate: float
    #: Best session. A fraction.
    best_return: float
    #: Worst session. A fraction.
    worst_return: float


class ReturnsUncertainty(t.TypedDict):
    """Uncertainty set around the expected returns."""

    #: Form of the set: an ellipsoid of joint errors that are correlated like the returns, an ellipsoid of independent errors, or an interval for each security.
    set: t.Literal["ellipsoid", "diagonal", "box"]
    #: Size of the set in standard errors of expected returns: of any portfolio, or, for a box, of each security.
    radius: float
    #: Number of returns that determines the standard error, which is the volatility times the square root of (sessions per year (252 or 365) divided by this number). Null: the number of returns in the window.
    sessions: t.Optional[int]


class _ReturnsUncertaintyInput(t.TypedDict):
    #: Size of the set in standard errors of expected returns: of any portfolio, or, for a box, of each security.
    radius: float


class ReturnsUncertaintyInput(_ReturnsUncertaintyInput, total=False):
    """Uncertainty set around the expected returns."""

    #: Form of the set: an ellipsoid of joint errors that are correlated like the returns, an ellipsoid of independent errors, or an interval for each security.
    set: t.Literal["ellipsoid", "diagonal", "box"]
    #: Number of returns that determines the standard error, which is the volatility times the square root of (sessions per year (252 or 365) divided by this number). Null: the number of returns in the window.
    sessions: t.Optional[int]


class _ReviewSpec(t.TypedDict):
    #: Id of the review, which snapshots state. `rebalance` is the review of the document itself.
    id: str
    #: Schedule, in the form of `rebalance` of the document. Required.
    schedule: RebalanceSpec
    #: Select securities and set weights again (membership), set the weights of the current constituents again (weights), or only update share counts and free float (shares).
    scope: t.Literal["membership", "weights", "shares"]


class ReviewSpec(_ReviewSpec, total=False):
    #: Default: the value of the pipeline.
    selection: t.Sequence[RuleSpec]
    #: Default: the value of the pipeline.
    weighting: WeightingSpec


class _ReviewSpecInput(t.TypedDict):
    #: Id of the review, which snapshots state. `rebalance` is the review of the document itself.
    id: str
    #: Select securities and set weights again (membership), set the weights of the current constituents again (weights), or only update share counts and free float (shares).
    scope: t.Literal["membership", "weights", "shares"]


class ReviewSpecInput(_ReviewSpecInput, total=False):
    #: Schedule, in the form of `rebalance` of the document. Required.
    schedule: RebalanceSpecInput
    #: Default: the value of the pipeline.
    selection: t.Sequence[RuleSpecInput]
    #: Default: the value of the pipeline.
    weighting: WeightingSpecInput


class _RiskControlOverlay(t.TypedDict):
    type: t.Literal["risk_control"]
    #: Annual volatility of the overlay.
    target: float
    #: Half-lives of the weights of squared returns, in sessions. The largest volatility is used.
    half_lives: t.Optional[t.Sequence[float]]
    #: Number of sessions of the mean of squared returns. Replaces the half-lives.
    sessions: t.Optional[int]
    #: Largest fraction in the index: 1.5 is 150%.
    max_leverage: float
    #: Number of sessions between the last return in the volatility and the exposure.
    lag: int
    #: Series of the store with the interest rate of cash, in percent per year; null for no interest.
    cash: t.Optional[str]
    #: Number of days per year.
    basis: t.Union[t.Literal[360], t.Literal[365]]


class RiskControlOverlay(_RiskControlOverlay, total=False):
    """The index with a target volatility. The rest is invested in cash."""

    #: The exposure changes only if the target exposure differs from it by more than this value: 0.05 is 5 percentage points. Default: 0.
    tolerance: float
    #: Maximum change of the exposure at one review: 0.1 is 10 percentage points. Default: unlimited.
    max_change: float
    #: Dates on which the exposure can change: after every close, or after the last close of a month. Default: daily.
    review: t.Literal["daily", "monthly"]
    #: Spread over the rate, for borrowed money at an exposure above 1. Default: 0.
    spread_bps: float
    #: Cost of changes of exposure at the close, in basis points of the traded amount. Default: 0.
    cost_bps: float
    #: Number of sessions per year, with which a volatility is annualised. Default: 252, or 365 on a calendar that trades every day.
    annualisation: int


class _RiskControlOverlayInput(t.TypedDict):
    type: t.Literal["risk_control"]
    #: Annual volatility of the overlay.
    target: float


class RiskControlOverlayInput(_RiskControlOverlayInput, total=False):
    """The index with a target volatility. The rest is invested in cash."""

    #: Half-lives of the weights of squared returns, in sessions. The largest volatility is used.
    half_lives: t.Optional[t.Sequence[float]]
    #: Number of sessions of the mean of squared returns. Replaces the half-lives.
    sessions: t.Optional[int]
    #: Largest fraction in the index: 1.5 is 150%.
    max_leverage: float
    #: Number of sessions between the last return in the volatility and the exposure.
    lag: int
    #: The exposure changes only if the target exposure differs from it by more than this value: 0.05 is 5 percentage points. Default: 0.
    tolerance: float
    #: Maximum change of the exposure at one review: 0.1 is 10 percentage points. Default: unlimited.
    max_change: float
    #: Dates on which the exposure can change: after every close, or after the last close of a month. Default: daily.
    review: t.Literal["daily", "monthly"]
    #: Series of the store with the interest rate of cash, in percent per year; null for no interest.
    cash: t.Optional[str]
    #: Spread over the rate, for borrowed money at an exposure above 1. Default: 0.
    spread_bps: float
    #: Cost of changes of exposure at the close, in basis points of the traded amount. Default: 0.
    cost_bps: float
    #: Number of days per year.
    basis: t.Union[t.Literal[360], t.Literal[365]]
    #: Number of sessions per year, with which a volatility is annualised. Default: 252, or 365 on a calendar that trades every day.
    annualisation: int


class RiskDecomposition(t.TypedDict):
    #: Version of the index or strategy; null for runs that were stored before versions existed.
    index_version: t.Optional[int]
    #: Data store on which the run was computed; null for runs that were stored without it.
    store_id: t.Optional[str]
    #: Causes why the run is stale; null if the stored run equals a new run of the request.
    stale: t.Optional[StaleState]
    #: Fraction of the factor variance that the factor contributes. It can be negative.
    contributions: t.Mapping[str, float]
    #: Fraction of the total variance that the factors explain.
    factor_share: float
    #: Variance that the factors explain.
    factor_variance: float
    #: Specific variance of the securities.
    specific_variance: float
    #: Total variance.
    total_variance: float
    #: Residual, which contains only rounding errors.
    residual: float
    #: True if the residual is within its tolerance.
    reconciles: bool
    #: Source of the factors. For a stored model, its estimator, or `imported`.
    model: t.Literal["market_sector", "statistical", "industries", "styles", "imported"]
    #: Factors of the model.
    factors: t.Sequence[str]
    #: Requested value; null if omitted.
    requested_as_of: t.Optional[str]
    #: Date of the weights.
    as_of: str
    #: Stored risk model; null for a model estimated over the window of the run.
    risk_model: t.Optional[str]
    #: Requested estimator; null for `model` or a stored model.
    risk_estimator: t.Optional[t.Literal["statistical", "industries", "styles"]]
    #: Securities without an estimate.
    uncovered: t.Sequence[str]
    #: First date of the levels of the run. The estimation period begins on this date.
    window_start: t.Optional[str]
    #: Last date of the levels of the run.
    window_end: t.Optional[str]
    #: Number of sessions with a return of every covered security, from which the risk is estimated; null for a stored model.
    observations: t.Optional[int]
    #: `LOOK_AHEAD`: the estimate uses returns after as_of. `MODEL_LACKS_NAMES`: the stored model has no estimate for some securities. `NO_EFFECT`: the model does not use `factors`.
    findings: t.Sequence[Finding]
    #: Annualised standard deviation of return differences.
    tracking_error: float
    #: Active exposure to each factor.
    exposures: t.Mapping[str, float]
    #: Index or identifier of the comparison.
    benchmark: str
    #: Fraction of the gross active weight with an estimate. The figures are scaled to the full weight.
    covered_weight: float


class RiskDiagnosticsPayload(t.TypedDict):
    #: Number of securities.
    assets: int
    #: Number of sessions after incomplete sessions were excluded; for a model by identifiers, number of days of the data. 0 for an imported model.
    observations: int
    #: Mean off-diagonal correlation of the returned matrix; 0 for a single security.
    average_correlation: float
    #: Largest eigenvalue divided by the smallest. 1e300 for a singular matrix, whose smallest eigenvalue is at most 1e-15 times the number of securities times the largest eigenvalue. Such a matrix has no inverse to working precision.
    condition_number: float
    #: Weight of the target. 0 is the sample covariance, or the covariance of a model without a target.
    intensity: float
    #: True if no eigenvalue is negative.
    positive_semi_definite: bool
    #: True if negative eigenvalues were clipped.
    repaired: bool
    #: Smallest eigenvalue of the matrix in the response.
    smallest_eigenvalue: float
    #: Target of the shrinkage; `none` for an imported model and for estimators that do not shrink.
    target: t.Literal["constant_correlation", "scaled_identity", "none"]


class _RiskEstimator(t.TypedDict):
    #: `shrinkage`: a sample covariance shrunk towards a target; `nonlinear`: every eigenvalue shrunk by the analytical formula of Ledoit and Wolf; `gerber`: joint moves beyond a threshold; `denoised`: eigenvalues below the Marchenko-Pastur edge replaced by their mean; `newey_west`: weighted by half_life, with autocovariances; `statistical`: principal components as factors; `industries`: market and SECTOR as factors; `styles`: these and size, value, momentum, volatility, liquidity, quality and dividend.
    estimator: t.Literal["shrinkage", "nonlinear", "gerber", "denoised", "newey_west", "statistical", "industries", "styles"]
    #: Size of a joint move in standard deviations. Default: 0.5. Read by gerber.
    threshold: float
    #: Number of autocovariances. Default: 5. Read by newey_west.
    lags: int
    #: Target of the shrinkage. Read by shrinkage.
    target: t.Literal["constant_correlation", "scaled_identity"]
    #: Weight of the target. With 0, the result is the sample covariance. Null uses intensity_method. Read by shrinkage.
    intensity: t.Optional[float]
    #: Method of the intensity; ignored if intensity is present. `shape`: securities / (securities + observations). `ledoit_wolf`: the analytic intensity of the data. Read by shrinkage.
    intensity_method: t.Literal["shape", "ledoit_wolf"]
    #: Sessions after which the weight of an observation halves. Default: equal weights.
    half_life: t.Optional[float]
    #: Number of returns up to the decision. Default: 504 in a derived index, the whole window in a run.
    sessions: t.Optional[int]


class RiskEstimator(_RiskEstimator, total=False):
    """Settings of a risk model, as in an estimate request."""

    #: Number of principal components. Default: 10. Read by statistical.
    factors: int
    #: Number of samples that are drawn to adjust eigenvalues for their bias, as in USE4. With industries and styles, the eigenvalues of the factor covariance are adjusted; with newey_west, those of the covariance. 200 are sufficient. Default: no adjustment. Read by newey_west, industries and styles.
    eigenvalue_simulations: int


class RiskEstimatorInput(t.TypedDict, total=False):
    """Settings of a risk model, as in an estimate request."""

    #: `shrinkage`: a sample covariance shrunk towards a target; `nonlinear`: every eigenvalue shrunk by the analytical formula of Ledoit and Wolf; `gerber`: joint moves beyond a threshold; `denoised`: eigenvalues below the Marchenko-Pastur edge replaced by their mean; `newey_west`: weighted by half_life, with autocovariances; `statistical`: principal components as factors; `industries`: market and SECTOR as factors; `styles`: these and size, value, momentum, volatility, liquidity, quality and dividend.
    estimator: t.Literal["shrinkage", "nonlinear", "gerber", "denoised", "newey_west", "statistical", "industries", "styles"]
    #: Number of principal components. Default: 10. Read by statistical.
    factors: int
    #: Number of samples that are drawn to adjust eigenvalues for their bias, as in USE4. With industries and styles, the eigenvalues of the factor covariance are adjusted; with newey_west, those of the covariance. 200 are sufficient. Default: no adjustment. Read by newey_west, industries and styles.
    eigenvalue_simulations: int
    #: Size of a joint move in standard deviations. Default: 0.5. Read by gerber.
    threshold: float
    #: Number of autocovariances. Default: 5. Read by newey_west.
    lags: int
    #: Target of the shrinkage. Read by shrinkage.
    target: t.Literal["constant_correlation", "scaled_identity"]
    #: Weight of the target. With 0, the result is the sample covariance. Null uses intensity_method. Read by shrinkage.
    intensity: t.Optional[float]
    #: Method of the intensity; ignored if intensity is present. `shape`: securities / (securities + observations). `ledoit_wolf`: the analytic intensity of the data. Read by shrinkage.
    intensity_method: t.Literal["shape", "ledoit_wolf"]
    #: Sessions after which the weight of an observation halves. Default: equal weights.
    half_life: t.Optional[float]
    #: Number of returns up to the decision. Default: 504 in a derived index, the whole window in a run.
    sessions: t.Optional[int]


class RiskModelCollection(t.TypedDict):
    #: Summaries by id.
    risk_models: t.Sequence[RiskModelSummary]
    #: Number of stored documents that are omitted because they cannot be read.
    skipped: int
    #: Number of omitted documents by cause.
    skipped_causes: SkippedCauses


class RiskModelImport(t.TypedDict):
    #: Period of variances and covariances: year or session. Values per session are multiplied by `annualisation`.
    units: t.Literal["annual", "daily"]
    #: Number of sessions per year, for daily units.
    annualisation: int
    #: True replaces covariances that are not symmetric by the mean of both values, and negative eigenvalues by 0 without changing variances. By default, both are errors.
    repair: bool
    #: One model per date, ascending. All models consist of covariances, or all models are factor models with the same factors.
    models: t.Sequence[ImportedModelDate]


class _RiskModelImportInput(t.TypedDict):
    #: Period of variances and covariances: year or session. Values per session are multiplied by `annualisation`.
    units: t.Literal["annual", "daily"]
    #: One model per date, ascending. All models consist of covariances, or all models are factor models with the same factors.
    models: t.Sequence[ImportedModelDate]


class RiskModelImportInput(_RiskModelImportInput, total=False):
    #: Number of sessions per year, for daily units.
    annualisation: int
    #: True replaces covariances that are not symmetric by the mean of both values, and negative eigenvalues by 0 without changing variances. By default, both are errors.
    repair: bool


class RiskModelImportResult(t.TypedDict):
    #: The risk model.
    model_id: str
    #: Securities of all dates.
    assets: int
    #: Factors in the order of the model; empty for covariances.
    factors: t.Sequence[str]
    #: Settings and dates of the model.
    imported: ImportedModelPayload
    #: SHA-256 of securities, dates and matrices.
    content_hash: str
    #: Warnings, which do not block an import.
    findings: t.Sequence[Finding]


class RiskModelJobStatus(t.TypedDict):
    #: {kind}:{id}, for example backtest:LARGE-100.
    job_id: str
    kind: t.Literal["risk"]
    #: Order in which waiting jobs start.
    priority: t.Literal["high", "normal", "low"]
    #: pending -> running -> succeeded, failed or cancelled. Terminal states never change.
    status: t.Literal["pending", "running", "succeeded", "failed", "cancelled"]
    #: Completed fraction: 0 while pending, exactly 1 after success. It never decreases during an attempt.
    progress: float
    #: Current step.
    message: str
    #: Error of the job; only if it failed.
    error: t.Optional[ErrorDetail]
    #: Time of the submission, ISO-8601 UTC with offset.
    created_at: str
    #: Start of the current attempt.
    started_at: t.Optional[str]
    #: Time of the end, ISO-8601 UTC with offset; null while it has not ended.
    finished_at: t.Optional[str]
    #: Time of the last heartbeat of the running attempt.
    heartbeat_at: t.Optional[str]
    #: Number of starts, which is recorded before the work starts.
    attempt: int
    #: Latest attempts in order, at most eleven. The last one is the current attempt.
    attempts: t.Sequence[JobAttempt]
    #: Request body as it was accepted.
    request: t.Any
    #: SHA-256 of all inputs except the market.
    input_hash: str
    #: X-Request-Id of the submission, which log lines of the job contain. Null if the service submitted the job.
    request_id: t.Optional[str]
    #: Trace of the submission, from its header traceparent.
    trace_id: t.Optional[str]
    #: Addresses that are notified when the job ends.
    callbacks: t.Sequence[JobCallback]
    #: Result of the job, if it succeeded. Null if the run of a backtest was deleted.
    result: t.Optional[RiskModelView]


class RiskModelRequest(t.TypedDict, total=False):
    #: Securities of the estimate. Duplicates are counted once. Empty: the securities of index_id. The sessions are the days on which at least one of the securities has a price on any exchange, not the sessions of a calendar.
    identifiers: t.Sequence[str]
    #: Index whose latest run provides the securities: its last holdings. The sessions are those of the calendar of the index.
    index_id: t.Optional[str]
    #: First day of the window. Default: the whole stored history.
    start: t.Optional[Date]
    #: Last day of the window.
    end: t.Optional[Date]
    #: Version of the data: a number, or the newest version known at a time (for a date: its end, in UTC).
    as_known_on: t.Union[int, str]
    #: `shrinkage`: a sample covariance shrunk towards a target; `nonlinear`: every eigenvalue shrunk by the analytical formula of Ledoit and Wolf; `gerber`: joint moves beyond a threshold; `denoised`: eigenvalues below the Marchenko-Pastur edge replaced by their mean; `newey_west`: weighted by half_life, with autocovariances; `statistical`: principal components as factors; `industries`: market and SECTOR as factors; `styles`: these and size, value, momentum, volatility, liquidity, quality and dividend.
    estimator: t.Literal["shrinkage", "nonlinear", "gerber", "denoised", "newey_west", "statistical", "industries", "styles"]
    #: Number of principal components. Default: 10. Read by statistical.
    factors: int
    #: Number of samples that are drawn to adjust eigenvalues for their bias, as in USE4. With industries and styles, the eigenvalues of the factor covariance are adjusted; with newey_west, those of the covariance. 200 are sufficient. Default: no adjustment. Read by newey_west, industries and styles.
    eigenvalue_simulations: int
    #: Size of a joint move in standard deviations. Default: 0.5. Read by gerber.
    threshold: float
    #: Number of autocovariances. Default: 5. Read by newey_west.
    lags: int
    #: Weight of the target. With 0, the result is the sample covariance. Null uses intensity_method. Read by shrinkage.
    intensity: t.Optional[float]
    #: Target of the shrinkage. Read by shrinkage.
    target: t.Literal["constant_correlation", "scaled_identity"]
    #: True replaces negative eigenvalues by 0 if the result is not positive semi-definite. The diagonal does not change.
    repair: bool
    #: Method of the intensity; ignored if intensity is present. `shape`: securities / (securities + observations). `ledoit_wolf`: the analytic intensity of the data. Read by shrinkage.
    intensity_method: t.Literal["shape", "ledoit_wolf"]
    #: Sessions after which the weight of an observation halves. Default: equal weights. Read by shrinkage, newey_west, industries and styles.
    half_life: t.Optional[float]
    #: Total returns include dividends; price returns do not.
    returns: t.Literal["total", "price"]


class RiskModelSummary(t.TypedDict):
    #: The risk model.
    model_id: str
    #: Estimator; `imported` for an imported model.
    estimator: t.Literal["shrinkage", "nonlinear", "gerber", "denoised", "newey_west", "statistical", "industries", "styles", "imported"]
    #: Index whose constituents were estimated; null for listed securities or an imported model.
    index_id: t.Optional[str]
    #: Data store of the returns; null for an imported model and for a model of an earlier release. A model with a store is refused on other stores.
    store_id: t.Optional[str]
    #: First date of the returns used, or of an imported model.
    observed_start: str
    #: Last date of the returns used, or of an imported model.
    observed_end: str
    #: Number of factors; null for a model without factors.
    factors: t.Optional[int]
    #: Number of securities.
    assets: int
    #: Mean off-diagonal correlation; 0 for one security.
    average_correlation: float
    #: Number of dates used.
    observations: int
    #: True if no eigenvalue is negative.
    positive_semi_definite: bool


class _RiskModelView(t.TypedDict):
    #: The risk model.
    model_id: str
    #: Securities with an estimate, ascending. This is the order of the matrices.
    asset_ids: t.Sequence[str]
    #: Correlation matrix, symmetric with a unit diagonal.
    correlation: TableFrame
    #: Annualised.
    covariance: TableFrame
    #: Annualised volatilities: square roots of the covariance diagonal.
    volatilities: t.Mapping[str, float]
    #: Diagnostics of the estimate.
    diagnostics: RiskDiagnosticsPayload
    #: Bound of the window in the request.
    start: t.Optional[str]
    #: Bound of the window in the request.
    end: t.Optional[str]
    #: Excluded securities, with the reason.
    excluded: t.Mapping[str, str]
    #: Unused settings of the request (`NO_EFFECT`), and warnings of an import.
    findings: t.Sequence[Finding]
    #: Data store of the returns; null for an imported model and for a model of an earlier release. A model with a store is refused on other stores.
    store_id: t.Optional[str]
    #: First date of the returns used, or of an imported model.
    observed_start: str
    #: Last date of the returns used, or of an imported model.
    observed_end: str
    #: SHA-256 of securities and matrix.
    content_hash: str
    #: Precision of the covariance product: float32 on the tensorflow engine.
    precision: t.Literal["float64", "float32"]


class RiskModelView(_RiskModelView, total=False):
    #: Factors of the estimators statistical, industries and styles. Absent for other estimators.
    factor_model: FactorModelPayload
    #: Settings and dates of an imported model. Absent for other models.
    imported: ImportedModelPayload
    #: Date of the returned model; absent for an estimated model.
    date: str


class _RiskParityObjective(t.TypedDict):
    type: t.Literal["risk_parity"]


class RiskParityObjective(_RiskParityObjective, total=False):
    """Risk contributions that equal the budgets. The solution maximises the ratio of the geometric mean of the weights (weighted by budget) to the volatility."""

    #: Fraction of the variance by identifier or by group, with a sum of 1. Default: equal fractions. A group divides its budget equally among the members without a separate budget.
    budgets: t.Optional[t.Mapping[str, float]]
    #: Reference column with the groups that have budgets. It is not read if every budget is that of an identifier.
    budget_field: str


class RiskPayload(t.TypedDict):
    #: Annualised volatility of the holdings. The weights of the covered securities are scaled to the weight of all securities.
    volatility: float
    #: Fraction of the weights that the estimate covers.
    covered_weight: float
    #: Stored risk model; null for a model estimated over the window of the run.
    risk_model: t.Optional[str]
    #: Requested estimator; null for the sample covariance or a stored model.
    risk_estimator: t.Optional[t.Literal["shrinkage", "nonlinear", "gerber", "denoised", "newey_west", "statistical", "industries", "styles"]]
    #: Securities without an estimate.
    uncovered: t.Sequence[str]
    #: First date of the levels of the run. The estimation period begins on this date.
    window_start: t.Optional[str]
    #: Last date of the levels of the run.
    window_end: t.Optional[str]
    #: Number of sessions with a return of every covered security, from which the risk is estimated; null for a stored model.
    observations: t.Optional[int]


class RiskValidationJobStatus(t.TypedDict):
    #: {kind}:{id}, for example backtest:LARGE-100.
    job_id: str
    kind: t.Literal["validate"]
    #: Order in which waiting jobs start.
    priority: t.Literal["high", "normal", "low"]
    #: pending -> running -> succeeded, failed or cancelled. Terminal states never change.
    status: t.Literal["pending", "running", "succeeded", "failed", "cancelled"]
    #: Completed fraction: 0 while pending, exactly 1 after success. It never decreases during an attempt.
    progress: float
    #: Current step.
    message: str
    #: Error of the job; only if it failed.
    error: t.Optional[ErrorDetail]
    #: Time of the submission, ISO-8601 UTC with offset.
    created_at: str
    #: Start of the current attempt.
    started_at: t.Optional[str]
    #: Time of the end, ISO-8601 UTC with offset; null while it has not ended.
    finished_at: t.Optional[str]
    #: Time of the last heartbeat of the running attempt.
    heartbeat_at: t.Optional[str]
    #: Number of starts, which is recorded before the work starts.
    attempt: int
    #: Latest attempts in order, at most eleven. The last one is the current attempt.
    attempts: t.Sequence[JobAttempt]
    #: Request body as it was accepted.
    request: t.Any
    #: SHA-256 of all inputs except the market.
    input_hash: str
    #: X-Request-Id of the submission, which log lines of the job contain. Null if the service submitted the job.
    request_id: t.Optional[str]
    #: Trace of the submission, from its header traceparent.
    trace_id: t.Optional[str]
    #: Addresses that are notified when the job ends.
    callbacks: t.Sequence[JobCallback]
    #: Result of the job, if it succeeded. Null if the run of a backtest was deleted.
    result: t.Optional[RiskValidationView]


class RiskValidationRequest(t.TypedDict, total=False):
    #: First day of a forecast. Default: the first day with a whole window before it.
    start: t.Optional[Date]
    #: Last outcome date.
    end: t.Optional[Date]
    #: Number of returns in each forecast, up to its day.
    sessions: int
    #: Number of sessions of an outcome, and of the interval between forecasts. Outcomes therefore do not overlap.
    horizon: int
    #: Index whose weights on each day of its latest run are a portfolio. Default: the index of the estimate, if there is one.
    index_id: t.Optional[str]
    #: Number of random portfolios of at most 20 securities, and of random portfolios relative to the equally weighted portfolio.
    random: int
    #: Number of eigenvectors of each covariance that are used as portfolios, evenly spaced from the largest eigenvalue.
    eigenportfolios: int
    #: Seed of the random portfolios.
    seed: int


class _RiskValidationViewSettings(t.TypedDict):
    #: `shrinkage`: a sample covariance shrunk towards a target; `nonlinear`: every eigenvalue shrunk by the analytical formula of Ledoit and Wolf; `gerber`: joint moves beyond a threshold; `denoised`: eigenvalues below the Marchenko-Pastur edge replaced by their mean; `newey_west`: weighted by half_life, with autocovariances; `statistical`: principal components as factors; `industries`: market and SECTOR as factors; `styles`: these and size, value, momentum, volatility, liquidity, quality and dividend.
    estimator: t.Literal["shrinkage", "nonlinear", "gerber", "denoised", "newey_west", "statistical", "industries", "styles"]
    #: Size of a joint move in standard deviations. Default: 0.5. Read by gerber.
    threshold: float
    #: Number of autocovariances. Default: 5. Read by newey_west.
    lags: int
    #: Target of the shrinkage. Read by shrinkage.
    target: t.Literal["constant_correlation", "scaled_identity"]
    #: Weight of the target. With 0, the result is the sample covariance. Null uses intensity_method. Read by shrinkage.
    intensity: t.Optional[float]
    #: Method of the intensity; ignored if intensity is present. `shape`: securities / (securities + observations). `ledoit_wolf`: the analytic intensity of the data. Read by shrinkage.
    intensity_method: t.Literal["shape", "ledoit_wolf"]
    #: Sessions after which the weight of an observation halves. Default: equal weights. Read by shrinkage, newey_west, industries and styles.
    half_life: t.Optional[float]


class RiskValidationViewSettings(_RiskValidationViewSettings, total=False):
    #: Number of principal components. Default: 10. Read by statistical.
    factors: int
    #: Number of samples that are drawn to adjust eigenvalues for their bias, as in USE4. With industries and styles, the eigenvalues of the factor covariance are adjusted; with newey_west, those of the covariance. 200 are sufficient. Default: no adjustment. Read by newey_west, industries and styles.
    eigenvalue_simulations: int


class RiskValidationView(t.TypedDict):
    #: The risk model.
    model_id: str
    #: Estimator of every forecast.
    settings: RiskValidationViewSettings
    #: Number of returns of each forecast.
    sessions: int
    #: Number of sessions of an outcome.
    horizon: int
    #: Index whose weights are tested as a portfolio.
    index_id: t.Optional[str]
    #: Day of the first forecast.
    start: str
    #: Last day of the last outcome.
    end: str
    #: Number of days with forecasts.
    forecasts: int
    #: Number of days with too little data for an estimate.
    skipped: int
    #: Means over the portfolios of each family.
    families: t.Sequence[ValidatedFamily]
    #: Each portfolio over all of its forecasts.
    portfolios: t.Sequence[ValidatedPortfolio]
    #: Rows by day of the forecast: number of securities with an estimate; forecast volatility and outcome over the horizon for the equally weighted portfolio and the index; root mean square of the standardised outcomes of each family.
    by_date: TableFrame


class RollResponse(t.TypedDict):
    #: The index, or the strategy of a run.
    index_id: str
    #: The resolved date.
    as_of: str
    #: Level of the underlying index.
    spot: float
    #: Expiry of the contract that is sold.
    front_expiry: str
    #: Expiry of the contract that is bought.
    back_expiry: str
    #: Theoretical price of the front contract.
    front_price: float
    #: Theoretical price of the back contract.
    back_price: float
    #: Sum of the discrete dividends up to the front expiry.
    front_dividend_points: float
    #: Sum of the discrete dividends up to the back expiry.
    back_dividend_points: float
    #: Price of the back contract less price of the front contract.
    roll_cost: float
    #: Roll yield: positive in backwardation, negative in contango.
    annualised_roll: float


class RollingRiskView(t.TypedDict):
    #: Version of the index or strategy; null for runs that were stored before versions existed.
    index_version: t.Optional[int]
    #: Data store on which the run was computed; null for runs that were stored without it.
    store_id: t.Optional[str]
    #: Causes why the run is stale; null if the stored run equals a new run of the request.
    stale: t.Optional[StaleState]
    #: The index, or the strategy of a run.
    index_id: str
    #: Number of returns of a window; null with a half-life.
    window: t.Optional[int]
    #: Sessions after which the weight of a return halves; null with a window.
    half_life: t.Optional[float]
    #: Reference of the comparison: the tracked index, or a benchmark.
    against: t.Literal["index", "benchmark"]
    #: Id of the benchmark; null if the index is the reference.
    benchmark_id: t.Optional[str]
    #: `WINDOW_CUT`: the benchmark lacks dates of the run.
    findings: t.Sequence[Finding]
    #: Annualised figures by date: volatility of the run and of its reference (`index_volatility` or `benchmark_volatility`), tracking error, and beta and correlation to the reference. A benchmark is compared on the common dates.
    risk: TableFrame


class RoundingSpec(t.TypedDict, total=False):
    #: Decimals of published, exported and printed levels. The calculation uses full precision. Unit: decimals.
    level: int
    #: Decimals of the divisor in the calculation. It is rounded whenever it changes. Unit: decimals.
    divisor: int
    #: Decimals of index shares in the calculation. They are rounded whenever they change. Requires base_market_value. Unit: decimals.
    shares: int
    #: Decimals of published, exported and printed weights. The calculation uses full precision. Unit: decimals.
    weights: int


class RuleFallback(t.TypedDict):
    #: The parameters are used if the previous parameters keep fewer securities than this number.
    when_fewer_than: int
    #: Parameters that replace parameters of the rule. All other parameters do not change.
    params: t.Mapping[str, t.Any]


class _RuleSpec(t.TypedDict):
    #: Id of the rule, unique within the pipeline.
    id: str
    #: Rule class; see /indices/rule-types.
    type: str
    #: Parameters of the type, by name.
    params: t.Mapping[str, t.Any]


class RuleSpec(_RuleSpec, total=False):
    #: Parameters that are tried, in order, if the rule keeps too few securities.
    fallback: t.Sequence[RuleFallback]


class _RuleSpecInput(t.TypedDict):
    #: Id of the rule, unique within the pipeline.
    id: str
    #: Rule class; see /indices/rule-types.
    type: str


class RuleSpecInput(_RuleSpecInput, total=False):
    #: Parameters of the type, by name.
    params: t.Mapping[str, t.Any]
    #: Parameters that are tried, in order, if the rule keeps too few securities.
    fallback: t.Sequence[RuleFallback]


class RuleTypes(t.TypedDict):
    #: Selection classes.
    selection: t.Sequence[TypeSpec]
    #: Weighting classes.
    weighting: t.Sequence[TypeSpec]
    #: Functions of expressions.
    functions: t.Sequence[FunctionSpec]
    #: All other fields of a definition, by section.
    fields: DefinitionFields


class RunDifference(t.TypedDict):
    #: Part that differs: a series, the weights, the securities, a field of the record (record.portfolio.cash), or result and overview.
    part: str
    #: First date of the difference; null if the part has no dates.
    date: t.Optional[str]
    #: First security on that date, for parts with one value per security.
    name: t.Optional[str]
    #: Stored value.
    stored: t.Optional[t.Union[float, str]]
    #: Recomputed value.
    replayed: t.Optional[t.Union[float, str]]


#: Id of an index or strategy (its newest run), or one of its runs as ID@RUN.
RunOf = str

class RunStep(t.TypedDict):
    """Runs every index of the plan with a stored run that is stale or ends before the session, with the settings of that run. Parents are run before derived indices, overlays and blends."""

    type: t.Literal["run"]


class RunSummaryCollection(t.TypedDict):
    #: One row per run, by id.
    summaries: t.Sequence[RunSummaryRow]
    #: Number of stored documents that are omitted because they cannot be read.
    skipped: int
    #: Number of omitted documents by cause.
    skipped_causes: SkippedCauses


class RunSummaryRow(t.TypedDict):
    #: Version of the index or strategy; null for runs that were stored before versions existed.
    index_version: t.Optional[int]
    #: Data store on which the run was computed; null for runs that were stored without it.
    store_id: t.Optional[str]
    #: Causes why the run is stale; null if the stored run equals a new run of the request.
    stale: t.Optional[StaleState]
    #: The index, or the strategy of a run.
    index_id: str
    #: Display name.
    name: str
    #: Time of the run, ISO-8601 UTC with offset.
    run_at: t.Optional[str]
    #: Index or identifier with which the run was compared; null without a benchmark.
    benchmark: t.Optional[str]
    #: First date of the levels of the run.
    start: str
    #: Last date of the levels of the run.
    end: str
    #: Level in index points on that date; for a strategy, its level (100 at the start).
    level: float
    #: Return variant of the levels.
    return_variant: t.Literal["price", "total", "net"]
    #: Return of the last session, a fraction; null with a single date.
    day_return: t.Optional[float]
    #: Return since the last date of the previous calendar year, or since the first date of the run. A fraction.
    year_to_date: float
    #: Annualised standard deviation of the returns of the last year (252 returns, or 365 if the calendar trades every day), or of all returns if there are fewer. A fraction.
    volatility: float
    #: Last level divided by the first, less 1. A fraction.
    total_return: float
    #: Lowest drawdown, at most 0. A fraction.
    max_drawdown: float
    #: Levels of the last year: every fourth date from the last one on or before the same day one year earlier (or from the first date of the run), and the last date.
    trace: SeriesPayload
    #: The same figures for the index, on the dates of the run, before trading costs but after the costs of an overlay. Null for a strategy. All other figures describe the portfolio after costs.
    index: t.Optional[IndexMoves]
    #: Date of the latest rebalance.
    last_rebalance: str
    #: First effective date of the schedule after the run; null for a strategy, or if unknown.
    next_rebalance: t.Optional[str]
    #: First effective date of the schedule after the run and not before today (UTC); null for a strategy, or if unknown.
    coming_rebalance: t.Optional[str]


RunsDifferenceLargest = t.TypedDict("RunsDifferenceLargest", {
    "date": str,
    "from": float,
    "to": float,
})


class RunsDifferenceDataRows(t.TypedDict):
    #: Number of new rows.
    rows_added: int
    #: Number of changed rows.
    rows_changed: int
    #: Number of removed rows.
    rows_removed: int


class RunsDifferenceDataAppended(t.TypedDict):
    #: Number of new sessions.
    sessions: int
    #: Number of bars on these sessions, included in rows_added.
    rows: int
    #: The first new session, YYYY-MM-DD.
    start: str
    #: The last new session, YYYY-MM-DD.
    end: str


RunsDifferenceDataStores = t.TypedDict("RunsDifferenceDataStores", {
    "from": t.Optional[str],
    "to": t.Optional[str],
})


class RunsDifferenceData(t.TypedDict):
    #: Number of values that differ. Null for two stores, and if an earlier version of the data is no longer available.
    cells: t.Optional[int]
    #: The first of these values.
    first: t.Sequence[DataCell]
    #: Number of rows that differ or that only one of the two versions contains; null if `cells` is null.
    rows: t.Optional[RunsDifferenceDataRows]
    #: Bars of sessions after the last session of the first version; null if there are none.
    appended: t.Optional[RunsDifferenceDataAppended]
    #: Data stores of the two runs; null for a run of an earlier version that does not store them.
    stores: RunsDifferenceDataStores
    #: Reason why `cells` is null; otherwise null.
    reason: t.Optional[str]


RunsDifferenceEngine = t.TypedDict("RunsDifferenceEngine", {
    "from": str,
    "to": str,
})


class RunsDifferenceEffects(t.TypedDict):
    #: Inputs that were replaced, in this order.
    cause: t.Literal["definition", "request", "data", "engine"]
    #: Effect of the replaced input on the total return.
    total_return: float


class RunsDifference(t.TypedDict):
    #: True if both runs have identical dates and levels, bit for bit.
    same_levels: bool
    #: First date on which the levels differ, or on which only one of the runs has a level.
    first_difference: t.Optional[str]
    #: Common date with the largest relative difference. Null if there is none, for example if only days were appended.
    largest: t.Optional[RunsDifferenceLargest]
    #: Changes of the index or strategy. Changes of documents that it uses are under `/documents/{id}`.
    definition: t.Sequence[DocumentChange]
    #: Changes of the request, with its defaults.
    request: t.Sequence[DocumentChange]
    #: Changes of the data.
    data: RunsDifferenceData
    #: Engine versions of the two runs.
    engine: RunsDifferenceEngine
    #: Effects, which add up to total_return exactly. Null if a replay is impossible: see `effects_reason`.
    effects: t.Optional[t.Sequence[RunsDifferenceEffects]]
    #: Reason why `effects` is null: the replay was refused, or needs data that is not served or no longer available. Otherwise null.
    effects_reason: t.Optional[str]
    #: Total return of the later run less the total return of the earlier run, to 15 digits of the larger one.
    total_return: float


class RunsDifferenceJobStatus(t.TypedDict):
    #: {kind}:{id}, for example backtest:LARGE-100.
    job_id: str
    kind: t.Literal["diff"]
    #: Order in which waiting jobs start.
    priority: t.Literal["high", "normal", "low"]
    #: pending -> running -> succeeded, failed or cancelled. Terminal states never change.
    status: t.Literal["pending", "running", "succeeded", "failed", "cancelled"]
    #: Completed fraction: 0 while pending, exactly 1 after success. It never decreases during an attempt.
    progress: float
    #: Current step.
    message: str
    #: Error of the job; only if it failed.
    error: t.Optional[ErrorDetail]
    #: Time of the submission, ISO-8601 UTC with offset.
    created_at: str
    #: Start of the current attempt.
    started_at: t.Optional[str]
    #: Time of the end, ISO-8601 UTC with offset; null while it has not ended.
    finished_at: t.Optional[str]
    #: Time of the last heartbeat of the running attempt.
    heartbeat_at: t.Optional[str]
    #: Number of starts, which is recorded before the work starts.
    attempt: int
    #: Latest attempts in order, at most eleven. The last one is the current attempt.
    attempts: t.Sequence[JobAttempt]
    #: Request body as it was accepted.
    request: t.Any
    #: SHA-256 of all inputs except the market.
    input_hash: str
    #: X-Request-Id of the submission, which log lines of the job contain. Null if the service submitted the job.
    request_id: t.Optional[str]
    #: Trace of the submission, from its header traceparent.
    trace_id: t.Optional[str]
    #: Addresses that are notified when the job ends.
    callbacks: t.Sequence[JobCallback]
    #: Result of the job, if it succeeded. Null if the run of a backtest was deleted.
    result: t.Optional[RunsDifference]


RunsDifferenceRequest = t.TypedDict("RunsDifferenceRequest", {
    "from": str,
    "to": str,
})


class SavedConstraintSet(t.TypedDict):
    #: The stored set.
    constraint_set: ConstraintSet
    #: Warnings that did not prevent the save.
    findings: t.Sequence[Finding]


class SavedIndex(t.TypedDict):
    #: The stored document.
    index: IndexDocument
    #: Warnings that did not prevent the save.
    findings: t.Sequence[Finding]


class _SavedReportTemplate(t.TypedDict):
    #: Id of the template, which is part of its URL.
    template_id: str
    #: Title of the rendered report.
    name: str
    #: Blocks, drawn from top to bottom. A template without blocks can be stored but not rendered.
    blocks: t.Sequence[ReportBlock]
    #: Size, orientation and margin of the pages.
    page: ReportPage


class SavedReportTemplate(_SavedReportTemplate, total=False):
    #: Warnings that did not prevent the save. Absent if there are none.
    findings: t.Sequence[Finding]


class SavedStrategy(t.TypedDict):
    #: The stored strategy.
    strategy: StrategyDocument
    #: Warnings that did not prevent the save.
    findings: t.Sequence[Finding]


class ScenarioGroup(t.TypedDict):
    #: The group.
    group: str
    #: Weight of the group on as_of.
    weight: float
    #: Sum of the contributions of its securities.
    contribution: float


ScenarioName = t.TypedDict("ScenarioName", {
    "identifier": str,
    "weight": float,
    "return": float,
    "contribution": float,
    "standard_error": t.Optional[float],
})


class _ScenarioRequest(t.TypedDict):
    #: Past windows and shocks.
    scenarios: t.Sequence[t.Union[WindowScenario, ShockScenarioInput]]


class ScenarioRequest(_ScenarioRequest, total=False):
    #: Date of the composition. Default: the last date of the run.
    as_of: t.Optional[Date]
    #: Reference column of groups and proxies.
    by: str


class ScenarioResultProxied(t.TypedDict):
    #: Asset identifier.
    identifier: str
    #: Group whose return is used, or all securities.
    proxy: str


class ScenarioResultWindow(t.TypedDict):
    #: First date.
    start: str
    #: Last date.
    end: str


ScenarioResultWorstSession = t.TypedDict("ScenarioResultWorstSession", {
    "date": str,
    "return": float,
})


ScenarioResultWorstSessions = t.TypedDict("ScenarioResultWorstSessions", {
    "date": str,
    "return": float,
})


ScenarioResult = t.TypedDict("ScenarioResult", {
    "name": str,
    "return": t.Optional[float],
    "by_name": t.Sequence["ScenarioName"],
    "by_group": t.Sequence["ScenarioGroup"],
    "covered_weight": float,
    "proxied": t.Sequence["ScenarioResultProxied"],
    "window": t.Optional["ScenarioResultWindow"],
    "worst_session": t.Optional["ScenarioResultWorstSession"],
    "worst_sessions": t.Sequence["ScenarioResultWorstSessions"],
    "r_squared": t.Optional[float],
    "observations": t.Optional[int],
    "standard_error": t.Optional[float],
})


class ScenariosView(t.TypedDict):
    #: Version of the index or strategy; null for runs that were stored before versions existed.
    index_version: t.Optional[int]
    #: Data store on which the run was computed; null for runs that were stored without it.
    store_id: t.Optional[str]
    #: Causes why the run is stale; null if the stored run equals a new run of the request.
    stale: t.Optional[StaleState]
    #: The index, or the strategy of a run.
    index_id: str
    #: The resolved date.
    as_of: str
    #: Reference column of groups and proxies.
    by: str
    #: Results in the order of the request.
    scenarios: t.Sequence[ScenarioResult]
    #: `NO_DATA_IN_RANGE`: the store does not cover the window. `WINDOW_CUT`: the data ends within the window. `NO_EFFECT`: an unused setting.
    findings: t.Sequence[Finding]


class Schedule(t.TypedDict):
    #: Display name.
    name: str
    #: Free text.
    description: t.Optional[str]
    #: True if days start automatically.
    enabled: bool
    #: Indices of the family, in any order. Parents are computed before the indices that depend on them.
    indices: t.Sequence[str]
    #: Exchange whose sessions are the days of the schedule.
    calendar: str
    #: Local time at which the day of a session starts.
    at: str
    #: Number of days after the session. With 1, the day starts on the next calendar day.
    day_offset: int
    #: Time zone of the IANA database. Default: the time zone of the calendar.
    time_zone: t.Optional[str]
    #: Number of minutes from the start to the deadline of a day. A day that ends after its deadline is late.
    deadline_minutes: t.Optional[int]
    #: Minutes until the next attempt of a day that is waiting or blocked.
    retry_minutes: int
    #: Number of sessions that are performed after an outage. Earlier sessions are recorded as missed.
    catch_up: int
    #: Number of days after the end of a day for which the service keeps its files; null keeps them permanently.
    keep_files_days: t.Optional[int]
    #: Effect of a failed or blocked index: the index and the indices that depend on it are held back (continue), or the whole family is held back (stop).
    on_failure: t.Literal["continue", "stop"]
    #: Steps of a day, in order.
    steps: t.Sequence[t.Union[RefreshStep, ChecksStep, RunStep, CompareStep, PublishStep, ExportStep, RenderStep, DeliverStep]]
    #: First session.
    starts_on: str
    #: The schedule.
    schedule_id: str
    #: Time of the last change, ISO-8601 UTC with offset.
    updated_at: str


class _ScheduleBody(t.TypedDict):
    #: Display name.
    name: str
    #: Indices of the family, in any order. Parents are computed before the indices that depend on them.
    indices: t.Sequence[str]
    #: Exchange whose sessions are the days of the schedule.
    calendar: str
    #: Local time at which the day of a session starts.
    at: str
    #: Steps of a day, in order.
    steps: t.Sequence[t.Union[RefreshStepInput, ChecksStepInput, RunStep, CompareStepInput, PublishStepInput, ExportStepInput, RenderStepInput, DeliverStepInput]]


class ScheduleBody(_ScheduleBody, total=False):
    #: Free text.
    description: t.Optional[str]
    #: True if days start automatically.
    enabled: bool
    #: Number of days after the session. With 1, the day starts on the next calendar day.
    day_offset: int
    #: Time zone of the IANA database. Default: the time zone of the calendar.
    time_zone: t.Optional[str]
    #: Number of minutes from the start to the deadline of a day. A day that ends after its deadline is late.
    deadline_minutes: t.Optional[int]
    #: Minutes until the next attempt of a day that is waiting or blocked.
    retry_minutes: int
    #: First session. Default: the session of the day on which the schedule is stored, or the next session.
    starts_on: Date
    #: Number of sessions that are performed after an outage. Earlier sessions are recorded as missed.
    catch_up: int
    #: Number of days after the end of a day for which the service keeps its files; null keeps them permanently.
    keep_files_days: t.Optional[int]
    #: Effect of a failed or blocked index: the index and the indices that depend on it are held back (continue), or the whole family is held back (stop).
    on_failure: t.Literal["continue", "stop"]


class ScheduleCollection(t.TypedDict):
    #: Schedules by id.
    schedules: t.Sequence[ListedSchedule]
    #: Number of stored documents that are omitted because they cannot be read.
    skipped: int
    #: Number of omitted documents by cause.
    skipped_causes: SkippedCauses


class ScheduleDay(t.TypedDict):
    """Day of a session: its plan and its results."""

    #: The schedule.
    schedule_id: str
    #: Session.
    date: str
    #: State of the day.
    state: t.Literal["waiting", "running", "blocked", "done", "skipped", "missed"]
    #: Reason why the day waits, is blocked, was skipped or was missed.
    reason: t.Optional[str]
    #: Scheduled time of the start.
    due_at: str
    #: Deadline of the day.
    deadline_at: t.Optional[str]
    #: True if the day did not end before the deadline.
    is_late: bool
    #: Start of the first attempt.
    started_at: t.Optional[str]
    #: Time at which the day was done, skipped or missed.
    finished_at: t.Optional[str]
    #: Time at which the day resumes. Null if it has ended, and while it is running unless a decision requested another attempt.
    next_attempt_at: t.Optional[str]
    #: Number of times that its steps were performed.
    rounds: int
    #: Version of the schedule that the day uses.
    version: t.Optional[int]
    #: Author of this version. Closes are published in the name of the author.
    author: str
    #: Findings that people have accepted.
    waivers: t.Sequence[Waiver]
    #: Indices that are held back.
    held: t.Sequence[HeldIndex]
    #: Steps, in order.
    steps: t.Sequence[StepRecord]


class ScheduleDaySummary(t.TypedDict):
    #: The schedule.
    schedule_id: str
    #: Session.
    date: str
    #: State of the day.
    state: t.Literal["waiting", "running", "blocked", "done", "skipped", "missed"]
    #: Reason why the day waits, is blocked, was skipped or was missed.
    reason: t.Optional[str]
    #: Scheduled time of the start.
    due_at: str
    #: Deadline of the day.
    deadline_at: t.Optional[str]
    #: True if the day did not end before the deadline.
    is_late: bool
    #: Start of the first attempt.
    started_at: t.Optional[str]
    #: Time at which the day was done, skipped or missed.
    finished_at: t.Optional[str]
    #: Time at which the day resumes. Null if it has ended, and while it is running unless a decision requested another attempt.
    next_attempt_at: t.Optional[str]
    #: Number of times that its steps were performed.
    rounds: int
    #: Version of the schedule that the day uses.
    version: t.Optional[int]
    #: Author of this version. Closes are published in the name of the author.
    author: str
    #: Findings that people have accepted.
    waivers: t.Sequence[Waiver]
    #: Indices that are held back.
    held: t.Sequence[HeldIndex]
    #: First step that is not done; null if all steps are done.
    step: t.Optional[t.Literal["refresh", "checks", "run", "compare", "publish", "export", "render", "deliver"]]


class ScheduleDaysNext(t.TypedDict):
    #: Session.
    date: str
    #: Time at which the day starts.
    due_at: str


class ScheduleDays(t.TypedDict):
    #: Newest first.
    days: t.Sequence[ScheduleDaySummary]
    #: Next day of the schedule; null for a disabled schedule, and at the end of the calendar.
    next: t.Optional[ScheduleDaysNext]


class _ScheduleView(t.TypedDict):
    #: The index, or the strategy of a run.
    index_id: str
    #: Date from which the response was computed.
    as_of: str
    #: Exchange MIC of the calendar.
    calendar: str
    #: Frequency of the rebalances of the index.
    frequency: str
    #: Effective dates on or before as_of, newest first.
    recent: t.Sequence[str]
    #: Effective dates after as_of up to lookahead_end, soonest first.
    upcoming: t.Sequence[str]
    #: 366 days after as_of, or the last session of the calendar if that is earlier.
    lookahead_end: str


class ScheduleView(_ScheduleView, total=False):
    """Rebalances of an index around a date. They are computed on request and not stored. Dates are YYYY-MM-DD."""

    #: Decision date of each effective date; only for an index with an effective lag.
    announcements: t.Mapping[str, str]


class _ScoreTerm(t.TypedDict):
    #: Name of a column or derived datapoint, an expression as text or as nodes, or an object with name, window, lag, aggregate and transform.
    field: t.Union[str, DatapointInput, ExpressionNodeInput]


class ScoreTerm(_ScoreTerm, total=False):
    #: Weight of the term in the average.
    weight: float
    #: End of the datapoint that is better.
    direction: t.Literal["high", "low"]
    #: Limit on the absolute z-score.
    winsorise: float


class SeasoningFilterParams(t.TypedDict, total=False):
    """Keeps securities that have been trading for a minimum time."""

    #: Minimum number of sessions since the first price bar. Unit: sessions.
    sessions: int
    #: Treatment of a security without a value of the datapoint. In a ranking, an included security without a value is last.
    missing: t.Literal["exclude", "include"]


class _SeasoningFilterRule(t.TypedDict):
    #: Id of the rule, unique within the pipeline.
    id: str
    type: t.Literal["SeasoningFilter"]


class SeasoningFilterRule(_SeasoningFilterRule, total=False):
    #: Parameters of the type, by name.
    params: SeasoningFilterParams
    #: Parameters that are tried, in order, if the rule keeps too few securities.
    fallback: t.Sequence[RuleFallback]


class SecondSourceCheck(t.TypedDict):
    """The level equals the level of a second source, a series of the store."""

    check: t.Literal["second_source"]
    #: Findings block the index (block), or are only reported (warn). Default: block.
    severity: t.Literal["block", "warn"]
    #: Series by index. Indices that are not listed have no second source.
    series: t.Mapping[str, str]
    #: Largest difference, in basis points of the level.
    tolerance_bps: float
    #: Return variant of the series.
    variant: t.Literal["price", "total", "net"]


class _SecondSourceCheckInput(t.TypedDict):
    check: t.Literal["second_source"]
    #: Series by index. Indices that are not listed have no second source.
    series: t.Mapping[str, str]


class SecondSourceCheckInput(_SecondSourceCheckInput, total=False):
    """The level equals the level of a second source, a series of the store."""

    #: Findings block the index (block), or are only reported (warn). Default: block.
    severity: t.Literal["block", "warn"]
    #: Largest difference, in basis points of the level.
    tolerance_bps: float
    #: Return variant of the series.
    variant: t.Literal["price", "total", "net"]


SensitivityRow = t.TypedDict("SensitivityRow", {
    "id": str,
    "index": int,
    "type": str,
    "parameter": str,
    "from": float,
    "to": float,
    "change": float,
    "effect": t.Optional[float],
    "shadow_price": float,
    "sentence": str,
})


class SeriesCollectionSeries(t.TypedDict):
    #: Asset identifier.
    identifier: str
    #: Display name.
    name: t.Optional[str]
    #: Currency of the values; null if not declared.
    currency: t.Optional[str]
    #: First date with a value.
    start: str
    #: Last date with a value.
    end: str
    #: Dates with a value.
    values: int


class SeriesCollection(t.TypedDict):
    #: Series by identifier.
    series: t.Sequence[SeriesCollectionSeries]
    #: Value of `after` for the next page; null on the last page.
    next: t.Optional[str]


class SeriesPayload(t.TypedDict):
    """Dated series. pandas reads it by pd.Series(**payload)."""

    #: Dates YYYY-MM-DD, strictly ascending.
    index: t.Sequence[str]
    #: One value per date.
    data: t.Sequence[t.Optional[float]]
    #: Name of the series.
    name: t.Optional[str]


class _SessionChange(t.TypedDict):
    #: Day on which the calendar differs from its rules.
    date: str
    #: `closed`: the day has no session. `open`: the day has a session with unusual hours, or is an additional session.
    session: t.Literal["closed", "open"]
    #: Reason for the change, including the source.
    reason: str


class SessionChange(_SessionChange, total=False):
    #: Local time of a late opening. Default: the usual time.
    opens: str
    #: Local time of an early close. Default: the usual time.
    closes: str


class SftpTarget(t.TypedDict):
    type: t.Literal["sftp"]
    #: Name of the target, unique among the targets of the client.
    name: str
    #: Tables whose files are sent to the target. `report` is a rendered report. Default: all files that the client can receive.
    tables: t.Optional[t.Sequence[str]]
    #: Server, user and folder. The path begins at the root of the server; /~/ is the folder of the user.
    url: str
    #: Fingerprint of the host key, as printed by `ssh-keygen -lf`. A server with another key is refused.
    host_key: str
    #: Password or private key.
    secret: t.Optional[str]
    #: Path below the address: folders, and a name with {file} (the name of the file), {client}, {index}, {table}, {schedule} and {date:YYYYMMDD}.
    path: str
    #: True writes a file NAME.sha256 after each file, in the format of sha256sum.
    checksum: bool


class _SftpTargetInput(t.TypedDict):
    type: t.Literal["sftp"]
    #: Name of the target, unique among the targets of the client.
    name: str
    #: Server, user and folder. The path begins at the root of the server; /~/ is the folder of the user.
    url: str
    #: Fingerprint of the host key, as printed by `ssh-keygen -lf`. A server with another key is refused.
    host_key: str


class SftpTargetInput(_SftpTargetInput, total=False):
    #: Tables whose files are sent to the target. `report` is a rendered report. Default: all files that the client can receive.
    tables: t.Optional[t.Sequence[str]]
    #: Password or private key.
    secret: t.Optional[str]
    #: Path below the address: folders, and a name with {file} (the name of the file), {client}, {index}, {table}, {schedule} and {date:YYYYMMDD}.
    path: str
    #: True writes a file NAME.sha256 after each file, in the format of sha256sum.
    checksum: bool


class SharingRequest(t.TypedDict):
    #: Ids or names of keys, or `sub:` and the subject of a token. Empty: not shared.
    shared_with: t.Sequence[str]


class ShockScenarioShocks(t.TypedDict):
    #: Change of the rate in basis points.
    bps: float


class ShockScenario(t.TypedDict):
    #: Display name.
    name: str
    #: Shocks as returns. A held identifier or a group such as `SECTOR:Energy` applies directly. All other securities respond to a series or another identifier of the data by regression. A rate in percent per year is shocked by basis points, for example `{ "bps": 100 }`.
    shocks: t.Mapping[str, t.Union[float, ShockScenarioShocks]]
    #: Number of sessions up to as_of for the estimate of the responses.
    regression_sessions: int


class ShockScenarioInputShocks(t.TypedDict):
    #: Change of the rate in basis points.
    bps: float


class _ShockScenarioInput(t.TypedDict):
    #: Display name.
    name: str
    #: Shocks as returns. A held identifier or a group such as `SECTOR:Energy` applies directly. All other securities respond to a series or another identifier of the data by regression. A rate in percent per year is shocked by basis points, for example `{ "bps": 100 }`.
    shocks: t.Mapping[str, t.Union[float, ShockScenarioInputShocks]]


class ShockScenarioInput(_ShockScenarioInput, total=False):
    #: Number of sessions up to as_of for the estimate of the responses.
    regression_sessions: int


class SimulationJobStatus(t.TypedDict):
    #: {kind}:{id}, for example backtest:LARGE-100.
    job_id: str
    kind: t.Literal["simulate"]
    #: Order in which waiting jobs start.
    priority: t.Literal["high", "normal", "low"]
    #: pending -> running -> succeeded, failed or cancelled. Terminal states never change.
    status: t.Literal["pending", "running", "succeeded", "failed", "cancelled"]
    #: Completed fraction: 0 while pending, exactly 1 after success. It never decreases during an attempt.
    progress: float
    #: Current step.
    message: str
    #: Error of the job; only if it failed.
    error: t.Optional[ErrorDetail]
    #: Time of the submission, ISO-8601 UTC with offset.
    created_at: str
    #: Start of the current attempt.
    started_at: t.Optional[str]
    #: Time of the end, ISO-8601 UTC with offset; null while it has not ended.
    finished_at: t.Optional[str]
    #: Time of the last heartbeat of the running attempt.
    heartbeat_at: t.Optional[str]
    #: Number of starts, which is recorded before the work starts.
    attempt: int
    #: Latest attempts in order, at most eleven. The last one is the current attempt.
    attempts: t.Sequence[JobAttempt]
    #: Request body as it was accepted.
    request: t.Any
    #: SHA-256 of all inputs except the market.
    input_hash: str
    #: X-Request-Id of the submission, which log lines of the job contain. Null if the service submitted the job.
    request_id: t.Optional[str]
    #: Trace of the submission, from its header traceparent.
    trace_id: t.Optional[str]
    #: Addresses that are notified when the job ends.
    callbacks: t.Sequence[JobCallback]
    #: Result of the job, if it succeeded. Null if the run of a backtest was deleted.
    result: t.Optional[SimulationView]


class SimulationRequest(t.TypedDict, total=False):
    #: Method. `block_bootstrap`: blocks of consecutive returns of the run. `gaussian_factor`: independent normal returns with the mean of the run and the variance of the last weights in a statistical factor model.
    method: t.Literal["block_bootstrap", "gaussian_factor"]
    #: Number of future sessions.
    horizon: int
    #: Number of paths. It determines the computing time and the memory (28 bytes per path).
    paths: int
    #: Number of sessions in a block, at most the number of returns of the run. Ignored by gaussian_factor.
    block: int
    #: Seed of the random numbers. Equal seeds give equal paths, on any machine and for any number of workers.
    seed: int
    #: Percentiles, as fractions of the paths. Duplicates are counted once.
    percentiles: t.Sequence[float]
    #: Level threshold, as a multiple of the last level.
    level: float
    #: Number of principal components of the factor model. Ignored by block_bootstrap.
    factors: int


class SimulationViewShortfall(t.TypedDict):
    #: Last level as a multiple of the initial level.
    level: float
    #: Fraction of the paths that end below the level.
    at_end: float
    #: Fraction of the paths that are below the level after at least one session.
    at_any_time: float


class SimulationView(t.TypedDict):
    #: The index, or the strategy of a run.
    index_id: str
    #: Method of drawing returns.
    method: t.Literal["block_bootstrap", "gaussian_factor"]
    #: Sessions ahead.
    horizon: int
    #: Number of paths.
    paths: int
    #: Seed of the random numbers. Equal seeds give equal paths.
    seed: int
    #: Number of returns of the run that the simulation uses.
    observations: int
    #: First date of the run.
    observed_start: str
    #: Last date of the run, which is the start of every path.
    observed_end: str
    #: Mean return of a session.
    mean_return: float
    #: Annualised volatility of the drawn returns.
    volatility: float
    #: Fraction of the variance that the factors explain; null for the bootstrap.
    factor_share: t.Optional[float]
    #: Levels by date and percentile, 100 at the start, with an error of at most 0.6% of a standard deviation.
    levels: TableFrame
    #: Last level divided by the first, less 1.
    total_return: Distribution
    #: Largest drawdown, at most 0.
    max_drawdown: Distribution
    #: Number of sessions of the longest period below a previous high.
    time_under_water: Distribution
    #: Fraction of the paths that end or fall below the level.
    shortfall: SimulationViewShortfall
    #: Precision of the levels of the paths: float32 on the tensorflow engine.
    precision: t.Literal["float64", "float32"]


class SingleLadder(t.TypedDict):
    #: The caps apply if any weight is above this value.
    above: float
    #: Maximum weight if the caps apply.
    to: float


class SkippedCauses(t.TypedDict):
    #: The file could not be read, or is not JSON.
    unreadable: int
    #: The JSON does not satisfy the schema of the document.
    invalid: int
    #: The document has a newer format version than this engine can read.
    unsupported: int


class SmallGroup(t.TypedDict):
    #: Index weight below which a group is small. Unit: fraction.
    below: float
    #: Maximum weight of a small group, as a multiple of its index weight.
    multiple: float


class SolvedConstraint(t.TypedDict):
    """Value and bound of one side of a constraint at the solution."""

    #: Label of the bound, as in the binding constraints.
    label: str
    #: Id of the constraint in the request; empty if it has none.
    id: str
    #: Position of the constraint in the request; null if the service added it.
    index: t.Optional[int]
    #: Class name.
    type: str
    #: Bound; `eq` for an equality.
    side: t.Literal["lower", "upper", "eq"]
    #: Unit of `value`, `limit` and `slack`.
    unit: t.Literal["fraction", "count", "value"]
    #: Value of the solution.
    value: float
    #: Bound of the value.
    limit: float
    #: Distance from the value to the bound; 0 beyond a soft bound.
    slack: float
    #: True if the bound is binding.
    binding: bool


class SolvedRow(t.TypedDict):
    """One side of a constraint that includes the security."""

    #: Id of the constraint in the request; empty if there is none.
    id: str
    #: Position of the constraint; null for an implicit constraint.
    index: t.Optional[int]
    #: Class name.
    type: str
    #: Human-readable name.
    label: str
    #: Bound of the constraint: lower or upper; `eq` for an equality.
    side: t.Literal["lower", "upper", "eq"]
    #: Kind of the object.
    kind: t.Literal["eq", "ineq"]
    #: Unit of the figure.
    unit: t.Literal["fraction", "count", "value"]
    #: Value of the constraint at the solved weights.
    value: float
    #: Bound of this side.
    limit: float
    #: Distance between value and bound.
    slack: float
    #: True if the bound is binding.
    binding: bool
    #: Multiplier of the constraint: change of the objective per unit of the bound.
    shadow_price: float
    #: Change of the value of the constraint per unit of the weight. Null if the constraint does not depend on the weight directly.
    coefficient: t.Optional[float]
    #: Contribution of the constraint to the derivative of the objective with respect to the weight.
    force: float


class SqlColumn(t.TypedDict):
    #: Name of the column.
    name: str
    #: Type of the column. `count`: a whole number of 32 bits, or 1 and 0 for true and false.
    type: t.Literal["date", "text", "number", "count"]


class _SqlRequest(t.TypedDict):
    #: One SELECT statement in the SQL of DuckDB.
    query: str


class SqlRequest(_SqlRequest, total=False):
    #: Format of the response. It replaces `Accept`.
    format: t.Literal["json", "csv", "arrow", "parquet"]


class SqlResult(t.TypedDict):
    #: Columns of the result.
    columns: t.Sequence[SqlColumn]
    #: Rows with one value per column; dates are YYYY-MM-DD.
    data: t.Sequence[t.Sequence[t.Optional[t.Union[str, float]]]]
    #: Number of rows.
    rows: int
    #: True if rows beyond 1000000 were omitted.
    truncated: bool


class StaleFillPayload(t.TypedDict):
    """A security that a rebalance traded at the price of an earlier session."""

    #: Asset identifier.
    identifier: str
    #: Day of the price of the trade.
    last_bar: str
    #: Number of sessions of the exchange since that day.
    sessions_old: int


class StaleState(t.TypedDict):
    #: True if the index, or a document that it uses, has changed since the run.
    definition: bool
    #: True if the served data has changed since the run.
    data: bool
    #: True if the engine has a version with different results.
    engine: bool
    #: Causes, one sentence each.
    reasons: t.Sequence[str]
    #: Store of the run, if another store is served; otherwise null.
    store_id: t.Optional[str]


class StalenessCheck(t.TypedDict):
    """Prices of constituents change. A price that is equal on many sessions is suspect."""

    check: t.Literal["staleness"]
    #: Findings block the index (block), or are only reported (warn). Default: warn.
    severity: t.Literal["block", "warn"]
    #: Number of sessions with the same price that is reported.
    sessions: int


class _StalenessCheckInput(t.TypedDict):
    check: t.Literal["staleness"]


class StalenessCheckInput(_StalenessCheckInput, total=False):
    """Prices of constituents change. A price that is equal on many sessions is suspect."""

    #: Findings block the index (block), or are only reported (warn). Default: warn.
    severity: t.Literal["block", "warn"]
    #: Number of sessions with the same price that is reported.
    sessions: int


class StatGridBlock(t.TypedDict):
    kind: t.Literal["stat_grid"]
    #: Title that is printed above the block.
    title: t.Optional[str]
    #: Index (or strategy) whose latest run the block shows.
    index_id: t.Optional[str]
    #: Width of the block. Two consecutive half blocks are placed next to each other.
    width: t.Literal["full", "half"]
    #: Figures, in the order in which they are printed. Default: the figures of every run; tracking figures unless the index is an overlay; tracking error to the parent for a derived index; exposures for a run with short positions. There is no default if `values` is present.
    stats: t.Optional[t.Sequence[t.Literal["total_return", "month_to_date", "year_to_date", "annualised_return", "volatility", "sharpe_ratio", "max_drawdown", "tracking_error", "tracking_difference", "parent_tracking_error", "forecast_tracking_error", "constituents", "effective_assets", "largest", "long_exposure", "short_exposure", "gross_exposure", "net_exposure", "transaction_cost"]]]
    #: Number of figures per row.
    columns: int
    #: Texts by label, which are printed after the figures.
    values: t.Optional[t.Mapping[str, str]]


class _StatGridBlockInput(t.TypedDict):
    kind: t.Literal["stat_grid"]


class StatGridBlockInput(_StatGridBlockInput, total=False):
    #: Title that is printed above the block.
    title: t.Optional[str]
    #: Index (or strategy) whose latest run the block shows.
    index_id: t.Optional[str]
    #: Width of the block. Two consecutive half blocks are placed next to each other.
    width: t.Literal["full", "half"]
    #: Figures, in the order in which they are printed. Default: the figures of every run; tracking figures unless the index is an overlay; tracking error to the parent for a derived index; exposures for a run with short positions. There is no default if `values` is present.
    stats: t.Optional[t.Sequence[t.Literal["total_return", "month_to_date", "year_to_date", "annualised_return", "volatility", "sharpe_ratio", "max_drawdown", "tracking_error", "tracking_difference", "parent_tracking_error", "forecast_tracking_error", "constituents", "effective_assets", "largest", "long_exposure", "short_exposure", "gross_exposure", "net_exposure", "transaction_cost"]]]
    #: Number of figures per row.
    columns: int
    #: Texts by label, which are printed after the figures.
    values: t.Optional[t.Mapping[str, str]]


class StepItem(t.TypedDict):
    #: Index, file, or file and recipient.
    key: str
    #: Index of the result; null for the whole family.
    index_id: t.Optional[str]
    #: Result so far.
    state: t.Literal["waiting", "blocked", "failed", "done"]
    #: Error code of a failed or blocked result.
    code: t.Optional[str]
    #: Description of the action, or reason why it was not performed.
    message: str
    #: Time of the result.
    at: str
    #: Job that performs the action.
    job_id: t.Optional[str]
    #: File that was written.
    file: t.Optional[MadeFile]
    #: Further details of the result. For a finding: `check`, `identifier`, `severity`, `measure` (value, limit, unit); for a price move `evidence` (previous_date, previous_close, close, weight); and, if it was accepted, `waived_by` and `reason`.
    detail: t.Optional[t.Mapping[str, t.Any]]


class StepLogLine(t.TypedDict):
    #: Time of the line.
    at: str
    #: Message in one sentence.
    message: str


class StepRecord(t.TypedDict):
    #: Kind of the step.
    type: t.Literal["refresh", "checks", "run", "compare", "publish", "export", "render", "deliver"]
    #: State of the step.
    state: t.Literal["pending", "running", "waiting", "failed", "done"]
    #: Number of attempts that were started.
    attempts: int
    #: Start of the first attempt.
    started_at: t.Optional[str]
    #: End of the last attempt.
    finished_at: t.Optional[str]
    #: Duration of all attempts, in ms.
    duration_ms: float
    #: Description of the result in a sentence.
    message: str
    #: Error code of a failed step.
    code: t.Optional[str]
    #: Last 100 lines of the log of the step.
    log: t.Sequence[StepLogLine]
    #: Indices that the step holds back, including the indices that depend on them. The state of such a step can be done.
    held: int
    #: Indices of the schedule.
    indices: int
    #: Results by index or file.
    items: t.Sequence[StepItem]


class StoreFreshness(t.TypedDict):
    #: The data store.
    store_id: str
    #: Calendar of an index that reads the store.
    calendar: str
    #: Last date of the data, YYYY-MM-DD.
    data_through: str
    #: Newest session of the calendar before the current day of the exchange, YYYY-MM-DD.
    latest_session: str
    #: Sessions after the last date of the data.
    sessions_behind: int


class StoredRun(t.TypedDict):
    #: Id of the run, accepted by every view of a run.
    run_id: str
    #: Time of the run, ISO-8601 UTC with offset.
    run_at: t.Optional[str]
    #: SHA-256 of all inputs of the run.
    run_hash: str
    #: First date.
    start: str
    #: Last date.
    end: str
    #: Version of the index or strategy; null for runs of earlier versions.
    index_version: t.Optional[int]
    #: The data store.
    store_id: t.Optional[str]
    #: Version of the data; null if unknown.
    store_version: t.Optional[int]
    #: SHA-256 of the data that was read.
    store_content_hash: str
    #: Version of the engine that computed the result.
    engine_version: str
    #: The request, with its defaults.
    request: t.Any
    #: Figures of the run; null if its files cannot be read.
    metrics: t.Optional[BacktestMetrics]
    #: True if closes of the run were published. Such a run is always kept.
    published: bool


class _StoredRuns(t.TypedDict):
    #: Newest first.
    runs: t.Sequence[StoredRun]
    #: Total number of stored runs, including runs that are not listed.
    total: int
    #: Number of stored documents that are omitted because they cannot be read.
    skipped: int
    #: Number of omitted documents by cause.
    skipped_causes: SkippedCauses


class StoredRuns(_StoredRuns, total=False):
    #: True if closes of the index were ever published, including closes of runs that are no longer stored.
    has_published: bool


class StoredStrategy(t.TypedDict):
    #: The stored strategy.
    strategy: StrategyDocument
    #: Broken references of the strategy, for example to a deleted index.
    problems: t.Sequence[Finding]
    #: True if a backtest record is stored.
    has_run: bool
    #: Time of the backtest record.
    run_at: t.Optional[str]


class StrategyCollection(t.TypedDict):
    #: Stored strategies by id.
    strategies: t.Sequence[StoredStrategy]
    #: Number of stored documents that are omitted because they cannot be read.
    skipped: int
    #: Number of omitted documents by cause.
    skipped_causes: SkippedCauses


class StrategyDeletion(t.TypedDict):
    #: The strategy.
    strategy_id: str
    #: True if a stored record was deleted too.
    backtest_record_deleted: bool
    #: Number of deleted job records and stored results.
    backtest_results_deleted: int


class StrategyDocument(t.TypedDict):
    #: Id of the strategy. It must differ from all index ids, because runs and views of both have the same paths.
    id: str
    #: Display name.
    name: str
    #: Free text.
    description: t.Optional[str]
    #: Index that the strategy follows.
    index_id: str
    #: Benchmark: a second comparison in addition to the tracked index.
    benchmark: t.Optional[BenchmarkRef]
    #: First day. Default: the base date of the index. Earlier days are not possible.
    start: t.Optional[str]
    #: Last day. Default: the last day of the data.
    end: t.Optional[str]
    #: Initial value of the portfolio, in the index currency.
    initial_capital: float
    #: Cost of a trade in basis points of its notional.
    transaction_cost_bps: float
    #: Constraint set that is applied to the targets at each rebalance.
    constraint_set_id: t.Optional[str]
    #: Schedule of the strategy on the calendar of the index. Null uses the rebalance dates of the index. Targets are the weights of the index at the close of the date, so effective_lag has no effect.
    rebalance: t.Optional[RebalanceSpec]
    #: After the first purchase, a security is traded only if its weight differs from its target by more than this fraction. Null: always traded.
    drift_tolerance: t.Optional[float]
    #: Fraction that is invested at each rebalance. The rest is cash without interest.
    exposure: float


class _StrategyDocumentInput(t.TypedDict):
    #: Id of the strategy. It must differ from all index ids, because runs and views of both have the same paths.
    id: str
    #: Display name.
    name: str
    #: Index that the strategy follows.
    index_id: str


class StrategyDocumentInput(_StrategyDocumentInput, total=False):
    #: Free text.
    description: t.Optional[str]
    #: Benchmark: a second comparison in addition to the tracked index.
    benchmark: t.Optional[BenchmarkRefInput]
    #: First day. Default: the base date of the index. Earlier days are not possible.
    start: t.Optional[Date]
    #: Last day. Default: the last day of the data.
    end: t.Optional[Date]
    #: Initial value of the portfolio, in the index currency.
    initial_capital: float
    #: Cost of a trade in basis points of its notional.
    transaction_cost_bps: float
    #: Constraint set that is applied to the targets at each rebalance.
    constraint_set_id: t.Optional[str]
    #: Schedule of the strategy on the calendar of the index. Null uses the rebalance dates of the index. Targets are the weights of the index at the close of the date, so effective_lag has no effect.
    rebalance: t.Optional[RebalanceSpecInput]
    #: After the first purchase, a security is traded only if its weight differs from its target by more than this fraction. Null: always traded.
    drift_tolerance: t.Optional[float]
    #: Fraction that is invested at each rebalance. The rest is cash without interest.
    exposure: float


class StudyFigures(t.TypedDict):
    """Figures of an optimisation, as in its result."""

    #: Date of the rebalance in force.
    rebalance_date: str
    #: True if the solver reached its tolerances.
    converged: bool
    #: True if the selection of securities is not proven optimal.
    heuristic: bool
    #: Number of positive weights.
    holdings: int
    #: Objective in its measure, including costs.
    objective_value: float
    #: Distance between the value and its bound, relative to the value.
    gap: t.Optional[float]
    #: Annualised expected return before costs; null without expected returns.
    expected_return: t.Optional[float]
    #: Annualised standard deviation of returns.
    volatility: float
    #: Annualised standard deviation of return differences.
    tracking_error: float
    #: One-way turnover: half the sum of the absolute changes.
    turnover: float
    #: Trading costs, linear and market impact. In a result, their sum as a fraction of value.
    costs: t.Optional[float]


class StudyJobStatus(t.TypedDict):
    #: {kind}:{id}, for example backtest:LARGE-100.
    job_id: str
    kind: t.Literal["study"]
    #: Order in which waiting jobs start.
    priority: t.Literal["high", "normal", "low"]
    #: pending -> running -> succeeded, failed or cancelled. Terminal states never change.
    status: t.Literal["pending", "running", "succeeded", "failed", "cancelled"]
    #: Completed fraction: 0 while pending, exactly 1 after success. It never decreases during an attempt.
    progress: float
    #: Current step.
    message: str
    #: Error of the job; only if it failed.
    error: t.Optional[ErrorDetail]
    #: Time of the submission, ISO-8601 UTC with offset.
    created_at: str
    #: Start of the current attempt.
    started_at: t.Optional[str]
    #: Time of the end, ISO-8601 UTC with offset; null while it has not ended.
    finished_at: t.Optional[str]
    #: Time of the last heartbeat of the running attempt.
    heartbeat_at: t.Optional[str]
    #: Number of starts, which is recorded before the work starts.
    attempt: int
    #: Latest attempts in order, at most eleven. The last one is the current attempt.
    attempts: t.Sequence[JobAttempt]
    #: Request body as it was accepted.
    request: t.Any
    #: SHA-256 of all inputs except the market.
    input_hash: str
    #: X-Request-Id of the submission, which log lines of the job contain. Null if the service submitted the job.
    request_id: t.Optional[str]
    #: Trace of the submission, from its header traceparent.
    trace_id: t.Optional[str]
    #: Addresses that are notified when the job ends.
    callbacks: t.Sequence[JobCallback]
    #: Result of the job, if it succeeded. Null if the run of a backtest was deleted.
    result: t.Optional[StudyView]


class _StudyRequest(t.TypedDict):
    #: Optimisations, at most 10000. Each has the form of POST /optimise/runs.
    runs: t.Sequence[OptimisationRunRequest]


class StudyRequest(_StudyRequest, total=False):
    #: Id of the study. Default: a generated id.
    study_id: t.Optional[str]


class StudyRow(t.TypedDict):
    #: Position in the request, from 0.
    position: int
    #: The index, or the strategy of a run.
    index_id: str
    #: The constraint set.
    constraint_set_id: str
    #: `solved`: see `run_id`. `refused`: see `error`.
    outcome: t.Literal["solved", "refused"]
    #: Id of the result, for GET /optimise/runs/{run_id}. Null if the optimisation was refused.
    run_id: t.Optional[str]
    #: Figures of the optimisation; null if it was refused.
    figures: t.Optional[StudyFigures]
    #: Error of the optimisation; only if it was refused.
    error: t.Optional[ErrorDetail]


class StudyRows(t.TypedDict):
    #: The study of optimisations.
    study_id: str
    #: Rows of all blocks.
    count: int
    #: Number of the block, from 0.
    block: int
    #: Number of blocks.
    blocks: int
    #: Entries, in the order of the request.
    rows: t.Sequence[StudyRow]


class StudyView(t.TypedDict):
    #: The study of optimisations.
    study_id: str
    #: Number of optimisations.
    runs: int
    #: Number of optimisations with a result.
    solved: int
    #: Number of optimisations with an error.
    refused: int
    #: Rows in the order of the request: the first 2000. GET /optimise/studies/{study_id}/rows returns all rows in blocks.
    rows: t.Sequence[StudyRow]
    #: Version of the engine that computed the result.
    engine_version: str


class SweepFanQuantiles(t.TypedDict):
    #: Fraction of the variants at or below the level.
    share: float
    #: Levels by date, 100 on the first date.
    data: t.Sequence[float]


class SweepFanLevels(t.TypedDict):
    #: Position of the variant.
    variant: int
    #: Levels by date, 100 on the first date.
    data: t.Sequence[float]


class _SweepFan(t.TypedDict):
    #: Dates, evenly spread over the common dates of the variants.
    index: t.Sequence[str]
    #: Number of variants used for the quantiles: all variants, or a thousand evenly spread ones.
    variants: int
    #: Quantiles of the levels on each date, from the lowest to the highest.
    quantiles: t.Sequence[SweepFanQuantiles]
    #: Levels of the variant that is ranked first.
    first: t.Optional[t.Sequence[float]]


class SweepFan(_SweepFan, total=False):
    #: Levels of each variant; empty with more than 8 variants. Absent in sweeps of earlier versions.
    levels: t.Sequence[SweepFanLevels]


class SweepFoldChoice(t.TypedDict):
    #: Groups of the selection, by position.
    train: t.Sequence[int]
    #: Groups of the test.
    test: t.Sequence[int]
    #: Position of the selected variant.
    variant: int
    #: Metric of the variant on the groups of the selection.
    in_sample: float
    #: Metric of the variant on the groups of the test.
    out_of_sample: float
    #: Rank of the variant among all trials on the test, 1 for the best. Equal trials have the better rank.
    rank: int


SweepFolds = t.Union["CombinatorialFolds", "WalkForwardFolds"]

class SweepFoldsViewGroups(t.TypedDict):
    #: First date.
    start: str
    #: Last date.
    end: str


class SweepFoldsViewChosen(t.TypedDict):
    #: Position of the selected variant.
    variant: int
    #: Number of splits that selected the variant.
    splits: int


class SweepFoldsViewPaths(t.TypedDict):
    #: Compound annual return, with 252 sessions per year, or 365 if the calendar trades every day.
    annualised_return: float
    #: Largest drawdown, at most 0.
    max_drawdown: float
    #: Annualised Sharpe ratio with a risk-free rate of 0.
    sharpe_ratio: float
    #: Total return over the test groups.
    total_return: float
    #: Annualised standard deviation, ddof 1.
    volatility: float


class SweepFoldsViewOverPaths(t.TypedDict):
    #: Compound annual return, with 252 sessions per year, or 365 if the calendar trades every day.
    annualised_return: Distribution
    #: Largest drawdown, at most 0.
    max_drawdown: Distribution
    #: Annualised Sharpe ratio with a risk-free rate of 0.
    sharpe_ratio: Distribution
    #: Total return over the test groups.
    total_return: Distribution
    #: Annualised standard deviation, ddof 1.
    volatility: Distribution


class SweepFoldsView(t.TypedDict):
    """Cross-validation of the selection, as described by López de Prado (2018), chapters 7 and 12. Percentiles are 5, 25, 50, 75 and 95%. The paths do not include the cost of changing from one variant to another."""

    #: Division of time into groups.
    method: t.Literal["combinatorial", "walk_forward"]
    #: Metric of the selection.
    select_by: t.Literal["sharpe_ratio", "annualised_return", "max_drawdown", "volatility"]
    #: First and last date with a return, for each group.
    groups: t.Sequence[SweepFoldsViewGroups]
    #: Number of returns of each variant. The oldest returns are omitted so that the groups have equal length.
    observations: int
    #: Number of sessions of the sample excluded before a test.
    left_before: int
    #: Number of sessions of the sample excluded after a test, including the embargo.
    left_after: int
    #: One entry per split.
    choices: t.Sequence[SweepFoldChoice]
    #: Selected variants, beginning with the most frequent.
    chosen: t.Sequence[SweepFoldsViewChosen]
    #: Metric of the selected variants on their samples, over the splits.
    in_sample: Distribution
    #: Metric of the selected variants on their tests, over the splits.
    out_of_sample: Distribution
    #: Metrics of the joined out-of-sample returns. Each group is tested once.
    paths: t.Sequence[SweepFoldsViewPaths]
    #: Distribution of each metric over the paths.
    over_paths: SweepFoldsViewOverPaths
    #: Fraction of the paths with a loss.
    probability_of_loss: float


class SweepJobStatus(t.TypedDict):
    #: {kind}:{id}, for example backtest:LARGE-100.
    job_id: str
    kind: t.Literal["sweep"]
    #: Order in which waiting jobs start.
    priority: t.Literal["high", "normal", "low"]
    #: pending -> running -> succeeded, failed or cancelled. Terminal states never change.
    status: t.Literal["pending", "running", "succeeded", "failed", "cancelled"]
    #: Completed fraction: 0 while pending, exactly 1 after success. It never decreases during an attempt.
    progress: float
    #: Current step.
    message: str
    #: Error of the job; only if it failed.
    error: t.Optional[ErrorDetail]
    #: Time of the submission, ISO-8601 UTC with offset.
    created_at: str
    #: Start of the current attempt.
    started_at: t.Optional[str]
    #: Time of the end, ISO-8601 UTC with offset; null while it has not ended.
    finished_at: t.Optional[str]
    #: Time of the last heartbeat of the running attempt.
    heartbeat_at: t.Optional[str]
    #: Number of starts, which is recorded before the work starts.
    attempt: int
    #: Latest attempts in order, at most eleven. The last one is the current attempt.
    attempts: t.Sequence[JobAttempt]
    #: Request body as it was accepted.
    request: t.Any
    #: SHA-256 of all inputs except the market.
    input_hash: str
    #: X-Request-Id of the submission, which log lines of the job contain. Null if the service submitted the job.
    request_id: t.Optional[str]
    #: Trace of the submission, from its header traceparent.
    trace_id: t.Optional[str]
    #: Addresses that are notified when the job ends.
    callbacks: t.Sequence[JobCallback]
    #: Result of the job, if it succeeded. Null if the run of a backtest was deleted.
    result: t.Optional[SweepView]


class SweepMapParameters(t.TypedDict):
    #: JSON pointer of the parameter, as in `patch`.
    pointer: str
    #: Values of the parameter, in the order of the request.
    values: t.Sequence[t.Any]


class SweepMap(t.TypedDict):
    #: A cell with several variants shows the variant with the best rank, for every metric.
    aggregation: t.Literal["first_by_rank"]
    #: Description of the rule.
    sentence: str
    #: Varied parameters with their values. If all but two parameters are fixed, a map has one variant per cell.
    parameters: t.Sequence[SweepMapParameters]


class _SweepOverfitting(t.TypedDict):
    #: Fraction of the selections in which the selected variant is not better than the median out of sample.
    probability: float
    #: Fraction of the selections in which the selected variant has a negative Sharpe ratio out of sample.
    probability_of_loss: float
    #: Median logit of the relative rank out of sample. Below 0, selected variants tend to rank below the median.
    median_logit: float
    #: Number of selections: each half of the blocks of time is compared with the other half.
    combinations: int
    #: Number of blocks of time.
    partitions: int
    #: Number of returns on common dates. The oldest returns are omitted so that the blocks have equal length.
    observations: int


class SweepOverfitting(_SweepOverfitting, total=False):
    """Combinatorially symmetric cross-validation, as defined by Bailey, Borwein, López de Prado and Zhu (2016)."""

    #: Probability of a random choice: one half, and more for an odd number of trials, whose middle one is the median. Absent in sweeps of earlier versions.
    chance_level: float
    #: `overfit`: the probability is above the chance level. `near_chance`: it is at most one standard deviation below. Absent in sweeps of earlier versions.
    rating: t.Literal["better_than_chance", "near_chance", "overfit"]


class SweepRequest(t.TypedDict, total=False):
    """Exactly one of index_id and document, and exactly one of grid and patches, are required."""

    #: Id of the sweep, which is part of the id of the job. Default: a generated id.
    sweep_id: t.Optional[str]
    #: Version of the data: a number, or the newest version known at a time (for a date: its end, in UTC).
    as_known_on: t.Union[int, str]
    #: Id of a stored index that is the base.
    index_id: t.Optional[str]
    #: IndexDocument that is the base, instead of index_id.
    document: t.Optional[t.Mapping[str, t.Any]]
    #: Settings of the backtests.
    request: SweepTerms
    #: Settings of a strategy that follows the index. Default: the index is held.
    strategy: t.Optional[SweepStrategy]
    #: Values by JSON pointer. Every combination is a variant, and the last pointer varies fastest. Pointers begin with /document, /request or /strategy.
    grid: t.Optional[t.Mapping[str, t.Sequence[t.Any]]]
    #: List of variants, each with values by JSON pointer, instead of grid.
    patches: t.Optional[t.Sequence[t.Mapping[str, t.Any]]]
    #: Metric of the ranking. Equal variants keep their order.
    rank_by: t.Literal["sharpe_ratio", "total_return", "annualised_return", "max_drawdown", "volatility", "tracking_error", "tracking_difference"]
    #: Number of blocks of time into which the estimate of overfitting divides the returns. Every half of the blocks selects one variant.
    partitions: int
    #: Splits of time that test the selection out of sample; null for no test.
    folds: t.Optional[SweepFolds]


class SweepRow(t.TypedDict):
    #: Rank of the variant; null for a variant that was refused.
    rank: t.Optional[int]
    #: Position among the requested variants.
    variant: int
    #: Changes of the variant, by JSON pointer.
    patch: t.Mapping[str, t.Any]
    #: Figures of the variant. They are identical, bit for bit, to the figures of a single run.
    metrics: t.Optional[BacktestMetrics]
    #: Transaction costs paid.
    total_costs: t.Optional[float]
    #: First date.
    start: t.Optional[str]
    #: Last date.
    end: t.Optional[str]
    #: Dates of the run.
    observations: t.Optional[int]
    #: Probability that the true Sharpe ratio exceeds the best Sharpe ratio expected among all trials if all true ratios were zero.
    deflated_sharpe_ratio: t.Optional[float]
    #: Reason why the variant was refused, as for a single run.
    error: t.Optional[ErrorDetail]


class SweepRows(t.TypedDict):
    #: The sweep.
    sweep_id: str
    #: Rows of all blocks: variants of the sweep.
    count: int
    #: Number of the block, from 0.
    block: int
    #: Number of blocks.
    blocks: int
    #: Rows by rank, with refused variants last.
    rows: t.Sequence[SweepRow]


class SweepSelection(t.TypedDict):
    #: Number of variants that ran. Variants with identical levels are counted once. Trials are treated as independent, so the deflation is strict for similar variants.
    trials: int
    #: Sharpe ratio of the variant that is ranked first, per session. All ratios in this object are per session.
    sharpe_ratio: float
    #: Skewness of the returns of the best variant.
    skewness: float
    #: Kurtosis of the returns; 3 for normal returns.
    kurtosis: float
    #: Number of returns of the variant.
    observations: int
    #: Variance of the Sharpe ratios of the trials.
    sharpe_variance: float
    #: Expected Sharpe ratio of the best of this number of trials if all true ratios are zero.
    expected_maximum_sharpe_ratio: float
    #: Probability that the true Sharpe ratio exceeds the best Sharpe ratio expected among all trials if all true ratios were zero.
    deflated_sharpe_ratio: t.Optional[float]


class SweepStrategy(t.TypedDict, total=False):
    #: Schedule of the strategy on the calendar of the index. Null uses the rebalance dates of the index. Targets are the weights of the index at the close of the date, so effective_lag has no effect.
    rebalance: t.Optional[RebalanceSpecInput]
    #: After the first purchase, a security is traded only if its weight differs from its target by more than this fraction. Null: always traded.
    drift_tolerance: t.Optional[float]
    #: Fraction that is invested at each rebalance. The rest is cash without interest.
    exposure: float


class SweepTerms(t.TypedDict, total=False):
    #: First day. Default: the base date of the index. Earlier days are not possible.
    start: t.Optional[Date]
    #: Last day. Default: the last day of the data.
    end: t.Optional[Date]
    #: Initial value of the portfolio, in the index currency.
    initial_capital: float
    #: Cost of a trade in basis points of its notional.
    transaction_cost_bps: float
    #: Each rebalance uses the newest version of the data known at the end of its decision date. Levels are computed from the data of the run.
    as_known: t.Literal["decision"]
    #: Data store of the run, for an index without a store. Default: the active store.
    store_id: str


class SweepViewFoldsShortage(t.TypedDict):
    #: Number of common returns of the variants.
    observations: int
    #: Number of returns that the folds need.
    needed: int


class _SweepView(t.TypedDict):
    #: The sweep.
    sweep_id: str
    #: The index, or the strategy of a run.
    index_id: str
    #: Number of requested variants.
    variants: int
    #: Number of variants that could not be run.
    refused: int
    #: Metric of the ranking.
    rank_by: t.Literal["sharpe_ratio", "total_return", "annualised_return", "max_drawdown", "volatility", "tracking_error", "tracking_difference"]
    #: Rows by rank, with refused variants last: the first 2000. GET /analytics/sweeps/{sweep_id}/rows returns all rows in blocks.
    rows: t.Sequence[SweepRow]
    #: Selection bias of the best variant; null if every variant was refused.
    selection: t.Optional[SweepSelection]
    #: Probability of overfitting. Null with fewer than two trials, or with fewer than two returns per block.
    overfitting: t.Optional[SweepOverfitting]
    #: SHA-256 of the data that was read.
    store_content_hash: str
    #: Version of the engine that computed the result.
    engine_version: str


class SweepView(_SweepView, total=False):
    #: Out-of-sample performance of the selection. Null without `folds`, or if there are too few returns; see `folds_shortage`. Absent in sweeps of earlier versions.
    folds: t.Optional[SweepFoldsView]
    #: Reason why the requested `folds` are null: there are too few returns. Null otherwise; absent in sweeps of earlier versions.
    folds_shortage: t.Optional[SweepViewFoldsShortage]
    #: Lists of positions of variants with identical levels. Each list is counted as one trial. Absent in sweeps of earlier versions.
    identical_variants: t.Sequence[t.Sequence[int]]
    #: Levels of the variants over time. Null with fewer than two common dates; absent in sweeps of earlier versions.
    fan: t.Optional[SweepFan]
    #: Rule for maps of some of the parameters. Absent in sweeps of earlier versions.
    map: SweepMap
    #: Conclusions from the figures, one sentence each. Absent in sweeps of earlier versions.
    verdict: t.Sequence[str]


class SyncJobStatus(t.TypedDict):
    #: {kind}:{id}, for example backtest:LARGE-100.
    job_id: str
    kind: t.Literal["sync"]
    #: Order in which waiting jobs start.
    priority: t.Literal["high", "normal", "low"]
    #: pending -> running -> succeeded, failed or cancelled. Terminal states never change.
    status: t.Literal["pending", "running", "succeeded", "failed", "cancelled"]
    #: Completed fraction: 0 while pending, exactly 1 after success. It never decreases during an attempt.
    progress: float
    #: Current step.
    message: str
    #: Error of the job; only if it failed.
    error: t.Optional[ErrorDetail]
    #: Time of the submission, ISO-8601 UTC with offset.
    created_at: str
    #: Start of the current attempt.
    started_at: t.Optional[str]
    #: Time of the end, ISO-8601 UTC with offset; null while it has not ended.
    finished_at: t.Optional[str]
    #: Time of the last heartbeat of the running attempt.
    heartbeat_at: t.Optional[str]
    #: Number of starts, which is recorded before the work starts.
    attempt: int
    #: Latest attempts in order, at most eleven. The last one is the current attempt.
    attempts: t.Sequence[JobAttempt]
    #: Request body as it was accepted.
    request: t.Any
    #: SHA-256 of all inputs except the market.
    input_hash: str
    #: X-Request-Id of the submission, which log lines of the job contain. Null if the service submitted the job.
    request_id: t.Optional[str]
    #: Trace of the submission, from its header traceparent.
    trace_id: t.Optional[str]
    #: Addresses that are notified when the job ends.
    callbacks: t.Sequence[JobCallback]
    #: Result of the job, if it succeeded. Null if the run of a backtest was deleted.
    result: t.Optional[RefreshResult]


class TableBlock(t.TypedDict):
    kind: t.Literal["table"]
    #: Title that is printed above the block.
    title: t.Optional[str]
    #: Index (or strategy) whose latest run the block shows.
    index_id: t.Optional[str]
    #: Width of the block. Two consecutive half blocks are placed next to each other.
    width: t.Literal["full", "half"]
    #: Source of the rows. `constituents`: holdings on the last date, beginning with the largest; `rebalances`: latest rebalances, with securities added and removed, turnover, cap and redistributed weight; `annual_returns`: return of each calendar year; `monthly_returns`: return of each month, one row per year; `attribution`: contribution of each security to the return of the portfolio, beginning with the largest; `risk`: contribution of each holding to the volatility, beginning with the largest; `exposures`: weight of each sector at the end of each year, beginning with the largest; `limits`: published concentration rules: headroom, sessions in breach and number of breaches; `breaches`: breaches of the rule that triggers rebalances, latest first; empty if the index has no such rule; `overlay_parts`: contribution of the underlying securities and of the parts of an overlay; empty for other indices; `dividend_points`: ordinary dividends in index points, latest years first; empty if there are none; `pack`: orders of the latest rebalance for a portfolio of `aum` that held the index, beginning with the largest; empty for an overlay; `scenarios`: holdings of the last date in past windows and under shocks, as defined in `scenarios`; `literal`: the rows of `frame`.
    source: t.Literal["constituents", "rebalances", "annual_returns", "monthly_returns", "attribution", "risk", "exposures", "limits", "breaches", "overlay_parts", "dividend_points", "pack", "scenarios", "literal"]
    #: Maximum number of rows: the largest holdings, the latest rebalances, or the latest years. A single further security is shown; several further securities are added up.
    limit: int
    #: Value of the portfolio of a table of orders, in the currency of the index.
    aum: float
    #: Past windows and shocks of a table of scenarios, as in a request for scenarios.
    scenarios: t.Optional[t.Sequence[t.Union[WindowScenario, ShockScenario]]]
    #: Rows of a literal table.
    frame: t.Optional[LiteralTable]


class _TableBlockInput(t.TypedDict):
    kind: t.Literal["table"]


class TableBlockInput(_TableBlockInput, total=False):
    #: Title that is printed above the block.
    title: t.Optional[str]
    #: Index (or strategy) whose latest run the block shows.
    index_id: t.Optional[str]
    #: Width of the block. Two consecutive half blocks are placed next to each other.
    width: t.Literal["full", "half"]
    #: Source of the rows. `constituents`: holdings on the last date, beginning with the largest; `rebalances`: latest rebalances, with securities added and removed, turnover, cap and redistributed weight; `annual_returns`: return of each calendar year; `monthly_returns`: return of each month, one row per year; `attribution`: contribution of each security to the return of the portfolio, beginning with the largest; `risk`: contribution of each holding to the volatility, beginning with the largest; `exposures`: weight of each sector at the end of each year, beginning with the largest; `limits`: published concentration rules: headroom, sessions in breach and number of breaches; `breaches`: breaches of the rule that triggers rebalances, latest first; empty if the index has no such rule; `overlay_parts`: contribution of the underlying securities and of the parts of an overlay; empty for other indices; `dividend_points`: ordinary dividends in index points, latest years first; empty if there are none; `pack`: orders of the latest rebalance for a portfolio of `aum` that held the index, beginning with the largest; empty for an overlay; `scenarios`: holdings of the last date in past windows and under shocks, as defined in `scenarios`; `literal`: the rows of `frame`.
    source: t.Literal["constituents", "rebalances", "annual_returns", "monthly_returns", "attribution", "risk", "exposures", "limits", "breaches", "overlay_parts", "dividend_points", "pack", "scenarios", "literal"]
    #: Maximum number of rows: the largest holdings, the latest rebalances, or the latest years. A single further security is shown; several further securities are added up.
    limit: int
    #: Value of the portfolio of a table of orders, in the currency of the index.
    aum: float
    #: Past windows and shocks of a table of scenarios, as in a request for scenarios.
    scenarios: t.Optional[t.Sequence[t.Union[WindowScenario, ShockScenarioInput]]]
    #: Rows of a literal table.
    frame: t.Optional[LiteralTable]


class TableFrame(t.TypedDict):
    """Table in the "split" format of pandas. pandas reads it by pd.DataFrame(**frame)."""

    #: Labels of the rows.
    index: t.Sequence[t.Union[str, int]]
    #: Labels of the columns.
    columns: t.Sequence[str]
    #: Rows of cells.
    data: t.Sequence[t.Sequence[t.Any]]


class TailOutcome(t.TypedDict):
    """Losses of one session, or drawdowns, of the solution, as fractions of value; positive for a loss."""

    #: Number of scenarios: sessions or draws.
    scenarios: int
    #: Average of the worst scenarios, which is the objective without costs.
    average: float
    #: Smallest loss in the average, which is the value at risk.
    level: float
    #: The worst loss.
    largest: float


class TemplateNeed(t.TypedDict):
    #: Kind of the object.
    kind: t.Literal["column", "series", "universe"]
    #: Name of the column, series or universe.
    name: str
    #: Content of the field.
    meaning: str
    #: True if the served store lacks the field. False if no store is served.
    missing: bool


class TemplateSource(t.TypedDict):
    #: Title of the public document.
    title: str
    #: Its publisher.
    publisher: str
    #: Year, month or day of the edition.
    date: str


class TermPoint(t.TypedDict):
    #: Expiry of the contract.
    expiry: str
    #: Calendar days.
    days: int
    #: days / 365.
    year_fraction: float
    #: Theoretical price.
    fair_value: float
    #: fair_value less spot.
    basis: float
    #: ln(fair_value / spot) / year_fraction.
    annualised_carry: float
    #: Components of the basis.
    carry: CarryDecomposition
    #: Sum of the discrete dividends between as_of and expiry, index points; 0 with a yield.
    dividend_points: float
    #: Annualised roll from the previous expiry.
    roll_from_previous: t.Optional[float]


class TermStructureResponse(t.TypedDict):
    #: The index, or the strategy of a run.
    index_id: str
    #: Requested value; null if omitted.
    requested_as_of: t.Optional[str]
    #: The resolved date.
    as_of: str
    #: Level of the underlying index.
    spot: float
    #: Financing rate that was used.
    risk_free_rate: float
    #: Dividend yield that was used.
    dividend_yield: float
    #: Borrow rate that was used.
    borrow_rate: float
    #: By expiry.
    points: t.Sequence[TermPoint]
    #: Shape of the prices: rising, falling, flat or mixed.
    shape: t.Literal["contango", "backwardation", "flat", "mixed"]


class TextBlock(t.TypedDict):
    kind: t.Literal["text"]
    #: Title that is printed above the block.
    title: t.Optional[str]
    #: Index (or strategy) whose latest run the block shows.
    index_id: t.Optional[str]
    #: Width of the block. Two consecutive half blocks are placed next to each other.
    width: t.Literal["full", "half"]
    #: The paragraphs.
    text: str


class _TextBlockInput(t.TypedDict):
    kind: t.Literal["text"]
    #: The paragraphs.
    text: str


class TextBlockInput(_TextBlockInput, total=False):
    #: Title that is printed above the block.
    title: t.Optional[str]
    #: Index (or strategy) whose latest run the block shows.
    index_id: t.Optional[str]
    #: Width of the block. Two consecutive half blocks are placed next to each other.
    width: t.Literal["full", "half"]


class _Tilt(t.TypedDict):
    #: Name of a column or derived datapoint, an expression as text or as nodes, or an object with name, window, lag, aggregate and transform.
    field: t.Union[str, DatapointInput, ExpressionNodeInput]


class Tilt(_Tilt, total=False):
    #: Exponent of the tilt. 0 keeps the base weights.
    strength: float
    #: End of the datapoint whose weight increases.
    direction: t.Literal["high", "low"]


class _TiltWeightParams(t.TypedDict):
    #: Name of a column or derived datapoint, an expression as text or as nodes, or an object with name, window, lag, aggregate and transform.
    field: t.Union[str, DatapointInput, ExpressionNodeInput]


class TiltWeightParams(_TiltWeightParams, total=False):
    """Base weights that are tilted towards one end of a datapoint, or of several datapoints. The tilts are multiplied."""

    #: Base weights. Market capitalisation uses the free float.
    base: t.Literal["MarketCapWeight", "EqualWeight"]
    #: Exponent of the tilt. 0 keeps the base weights.
    strength: float
    #: End of the datapoint whose weight increases.
    direction: t.Literal["high", "low"]
    #: Further tilts, each with field, strength and direction.
    tilts: t.Sequence[Tilt]


class _TiltWeightWeighting(t.TypedDict):
    type: t.Literal["TiltWeight"]


class TiltWeightWeighting(_TiltWeightWeighting, total=False):
    #: Parameters of the type, by name.
    params: TiltWeightParams
    #: Maximum weight of a constituent: a number, or an expression such as min(0.09, 3 * weight_in("PARENT")), which is evaluated for each constituent. Default: no maximum. Unit: fraction.
    cap: t.Optional[t.Union[float, str, DatapointInput, ExpressionNodeInput]]
    #: Minimum weight of a security. Default: no minimum. Unit: fraction.
    floor: t.Optional[float]
    #: Maximum weights of groups.
    group_caps: t.Sequence[GroupCapInput]
    #: Reference column, such as ISSUER. `cap` and `ladder_caps` then limit the weight of each group of this column instead of each constituent. A constituent without a value is a separate group.
    cap_by: str
    #: Caps that apply if a limit is exceeded: first caps of single weights, then a cap of the total of large weights.
    ladder_caps: LadderCaps
    #: Datapoint that multiplies the raw weights. Its changes are phased in over several reviews.
    phase_in: PhaseInInput


class _TopFractionParams(t.TypedDict):
    #: Name of a column or derived datapoint, an expression as text or as nodes, or an object with name, window, lag, aggregate and transform.
    field: t.Union[str, DatapointInput, ExpressionNodeInput]
    #: Fraction of the ranked securities that is kept. Unit: fraction.
    fraction: float


class TopFractionParams(_TopFractionParams, total=False):
    """Keeps the best fraction of the securities by a field, rounded up, overall or in each group."""

    #: True ranks the smallest values first.
    ascending: bool
    #: Column whose values define groups. The rule is applied to each group separately. Securities without a value form one group.
    group_by: t.Optional[str]
    #: Treatment of a security without a value of the datapoint. In a ranking, an included security without a value is last.
    missing: t.Literal["exclude", "include"]


class _TopFractionRule(t.TypedDict):
    #: Id of the rule, unique within the pipeline.
    id: str
    type: t.Literal["TopFraction"]


class TopFractionRule(_TopFractionRule, total=False):
    #: Parameters of the type, by name.
    params: TopFractionParams
    #: Parameters that are tried, in order, if the rule keeps too few securities.
    fallback: t.Sequence[RuleFallback]


class _TopNParams(t.TypedDict):
    #: Number of securities that are kept. Unit: securities.
    count: int


class TopNParams(_TopNParams, total=False):
    """Keeps the securities with the best values of a field, overall or in each group."""

    #: Name of a column or derived datapoint, an expression as text or as nodes, or an object with name, window, lag, aggregate and transform.
    field: t.Union[str, DatapointInput, ExpressionNodeInput]
    #: True ranks the smallest values first.
    ascending: bool
    #: Column whose values define groups. The rule is applied to each group separately. Securities without a value form one group.
    group_by: t.Optional[str]
    #: Treatment of a security without a value of the datapoint. In a ranking, an included security without a value is last.
    missing: t.Literal["exclude", "include"]


class _TopNRule(t.TypedDict):
    #: Id of the rule, unique within the pipeline.
    id: str
    type: t.Literal["TopN"]


class TopNRule(_TopNRule, total=False):
    #: Parameters of the type, by name.
    params: TopNParams
    #: Parameters that are tried, in order, if the rule keeps too few securities.
    fallback: t.Sequence[RuleFallback]


class TotalRiskDecomposition(t.TypedDict):
    #: Version of the index or strategy; null for runs that were stored before versions existed.
    index_version: t.Optional[int]
    #: Data store on which the run was computed; null for runs that were stored without it.
    store_id: t.Optional[str]
    #: Causes why the run is stale; null if the stored run equals a new run of the request.
    stale: t.Optional[StaleState]
    #: Fraction of the factor variance that the factor contributes. It can be negative.
    contributions: t.Mapping[str, float]
    #: Fraction of the total variance that the factors explain.
    factor_share: float
    #: Variance that the factors explain.
    factor_variance: float
    #: Specific variance of the securities.
    specific_variance: float
    #: Total variance.
    total_variance: float
    #: Residual, which contains only rounding errors.
    residual: float
    #: True if the residual is within its tolerance.
    reconciles: bool
    #: Source of the factors. For a stored model, its estimator, or `imported`.
    model: t.Literal["market_sector", "statistical", "industries", "styles", "imported"]
    #: Factors of the model.
    factors: t.Sequence[str]
    #: Requested value; null if omitted.
    requested_as_of: t.Optional[str]
    #: Date of the weights.
    as_of: str
    #: Stored risk model; null for a model estimated over the window of the run.
    risk_model: t.Optional[str]
    #: Requested estimator; null for `model` or a stored model.
    risk_estimator: t.Optional[t.Literal["statistical", "industries", "styles"]]
    #: Securities without an estimate.
    uncovered: t.Sequence[str]
    #: First date of the levels of the run. The estimation period begins on this date.
    window_start: t.Optional[str]
    #: Last date of the levels of the run.
    window_end: t.Optional[str]
    #: Number of sessions with a return of every covered security, from which the risk is estimated; null for a stored model.
    observations: t.Optional[int]
    #: `LOOK_AHEAD`: the estimate uses returns after as_of. `MODEL_LACKS_NAMES`: the stored model has no estimate for some securities. `NO_EFFECT`: the model does not use `factors`.
    findings: t.Sequence[Finding]
    #: Annualised forecast of the volatility: the root of the total variance.
    volatility: float
    #: Exposure to each factor.
    exposures: t.Mapping[str, float]
    #: Fraction of the gross weight with an estimate. The figures are scaled to the full weight.
    covered_weight: float


class _TrackingErrorParams(t.TypedDict):
    #: Largest annualised tracking error. Unit: fraction a year.
    limit: float


class TrackingErrorParams(_TrackingErrorParams, total=False):
    """The annualised tracking error relative to the index is at most a limit."""

    #: Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated.
    soft: t.Optional[float]
    #: Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy.
    priority: int


class _TrackingErrorRow(t.TypedDict):
    type: t.Literal["TrackingError"]


class TrackingErrorRow(_TrackingErrorRow, total=False):
    #: Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position.
    id: str
    #: Parameters of the type, by name.
    params: TrackingErrorParams


class TrackingForecastPayloadRebalances(t.TypedDict):
    #: Session after which the forecast applies.
    date: str
    #: Annualised forecast of the risk model at the decision. A fraction.
    tracking_error: float
    #: Annualised tracking error until the next rebalance, a fraction; null with fewer than two returns.
    realised_tracking_error: t.Optional[float]
    #: Number of returns until the next rebalance.
    observations: int


class TrackingForecastPayload(t.TypedDict):
    #: Annualised root mean square of the forecasts that applied on each date. A fraction.
    tracking_error: float
    #: Annualised standard deviation of the active returns with a forecast. A fraction.
    realised_tracking_error: float
    #: Standard deviation of the active returns, each divided by its forecast. Above 1, risk was underestimated. Null if a forecast is 0.
    bias: t.Optional[float]
    #: Lower end of the 95% band of the bias of unbiased forecasts.
    bias_low: float
    #: Upper end of the 95% band of the bias: 1 + sqrt(2 / observations).
    bias_high: float
    #: Number of active returns with a forecast.
    observations: int
    #: Rebalances with a forecast, by date.
    rebalances: t.Sequence[TrackingForecastPayloadRebalances]


class TradeCosts(t.TypedDict):
    """Costs of the trades, as a fraction of value. Trades start from the weights held just before, or from the index weights if there are no holdings."""

    #: Cost of a trade, in basis points of the traded weight.
    linear_bps: float
    #: Market impact: this coefficient times the traded weight of a security to the power of 3/2.
    impact_coefficient: float


class TradeCostsInput(t.TypedDict, total=False):
    """Costs of the trades, as a fraction of value. Trades start from the weights held just before, or from the index weights if there are no holdings."""

    #: Cost of a trade, in basis points of the traded weight.
    linear_bps: float
    #: Market impact: this coefficient times the traded weight of a security to the power of 3/2.
    impact_coefficient: float


class _TradeSizeParams(t.TypedDict):
    #: Largest change of one weight. Unit: fraction.
    upper: float


class TradeSizeParams(_TradeSizeParams, total=False):
    """No weight differs from the reference portfolio by more than a bound."""

    #: Portfolio from which trades are measured: the index, the previous solved weights, or the weights held just before the rebalance, after drift.
    reference: t.Literal["index", "previous", "held"]
    #: Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated.
    soft: t.Optional[float]
    #: Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy.
    priority: int


class _TradeSizeRow(t.TypedDict):
    type: t.Literal["TradeSize"]


class TradeSizeRow(_TradeSizeRow, total=False):
    #: Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position.
    id: str
    #: Parameters of the type, by name.
    params: TradeSizeParams


class _TreatmentSpec(t.TypedDict):
    #: Return variant: dividends excluded, reinvested, or reinvested after withholding tax.
    dividends: t.Literal["price", "total", "net"]
    #: Fraction of ordinary dividends that is withheld in the net variant. It is a number, or rates by the value of a field: { "field": "COUNTRY", "rates": { "US": 0.3 }, "default": 0.15 }. Unit: fraction.
    withholding_tax: t.Union[float, WithholdingRates]
    #: Ordinary dividends are reinvested in the whole index, or in the security that pays them.
    reinvestment: t.Literal["index", "constituent"]
    #: Special dividends and returns of capital reduce the previous close and change the divisor (adjust), are reinvested in the security that pays them (constituent, or its synonym reinvest), or are ignored.
    special_dividends: t.Literal["adjust", "constituent", "reinvest", "ignore"]
    #: Splits are applied. Use ignore only if prices are already adjusted.
    splits: t.Literal["apply", "ignore"]
    #: Value at which a delisted security leaves.
    delisting: t.Literal["last_price", "zero", "action_value"]
    #: A spun-off security enters at zero on its ex-date. It stays until the next rebalance, leaves at its first close, or is ignored.
    spin_offs: t.Literal["zero_price", "drop_after_first_session", "ignore"]
    #: If a price is missing, the last price is used (carry), the security is excluded until the next rebalance (exclude), or the run fails (fail).
    missing_prices: t.Literal["carry", "exclude", "fail"]
    #: A security is not newly selected after this number of sessions without a price, or after max_stale_sessions if that is less. Unit: sessions.
    entry_stale_sessions: int
    #: A trade without a price uses the last price (carry), or waits for the next price bar (defer).
    stale_targets: t.Literal["carry", "defer"]


class TreatmentSpec(_TreatmentSpec, total=False):
    #: The previous close becomes the ex-rights price. Index shares increase by the new shares (subscribe), do not change (price_only), or change so that the value of the holding is constant (constituent). Default: subscribe for weights by market value, otherwise price_only.
    rights: t.Literal["subscribe", "price_only", "constituent"]
    #: A constituent leaves after this number of sessions of its calendar without a price. With null, its last price is used until a review or an action removes it. Default: 5, or null if the store has a delisting, an acquisition or a merger. Unit: sessions.
    max_stale_sessions: t.Optional[int]
    #: A constituent without a price that is removed without an action leaves at its last price, or its value is written off (zero). Default: last_price.
    suspension: t.Literal["last_price", "zero"]
    #: The index is rebalanced if a limit is exceeded between reviews (rebalance), or nothing happens (none).
    on_breach: t.Literal["none", "rebalance"]
    #: Published rule. Its breach triggers a rebalance. Default: UCITS_5_10_40.
    breach_rule: t.Literal["UCITS_5_10_40", "UCITS_20_35", "RIC_25_5_50", "SEC_75_5_10"]


class TreatmentSpecInput(t.TypedDict, total=False):
    #: Return variant: dividends excluded, reinvested, or reinvested after withholding tax.
    dividends: t.Literal["price", "total", "net"]
    #: Fraction of ordinary dividends that is withheld in the net variant. It is a number, or rates by the value of a field: { "field": "COUNTRY", "rates": { "US": 0.3 }, "default": 0.15 }. Unit: fraction.
    withholding_tax: t.Union[float, WithholdingRates]
    #: Ordinary dividends are reinvested in the whole index, or in the security that pays them.
    reinvestment: t.Literal["index", "constituent"]
    #: Special dividends and returns of capital reduce the previous close and change the divisor (adjust), are reinvested in the security that pays them (constituent, or its synonym reinvest), or are ignored.
    special_dividends: t.Literal["adjust", "constituent", "reinvest", "ignore"]
    #: The previous close becomes the ex-rights price. Index shares increase by the new shares (subscribe), do not change (price_only), or change so that the value of the holding is constant (constituent). Default: subscribe for weights by market value, otherwise price_only.
    rights: t.Literal["subscribe", "price_only", "constituent"]
    #: Splits are applied. Use ignore only if prices are already adjusted.
    splits: t.Literal["apply", "ignore"]
    #: Value at which a delisted security leaves.
    delisting: t.Literal["last_price", "zero", "action_value"]
    #: A spun-off security enters at zero on its ex-date. It stays until the next rebalance, leaves at its first close, or is ignored.
    spin_offs: t.Literal["zero_price", "drop_after_first_session", "ignore"]
    #: If a price is missing, the last price is used (carry), the security is excluded until the next rebalance (exclude), or the run fails (fail).
    missing_prices: t.Literal["carry", "exclude", "fail"]
    #: A constituent leaves after this number of sessions of its calendar without a price. With null, its last price is used until a review or an action removes it. Default: 5, or null if the store has a delisting, an acquisition or a merger. Unit: sessions.
    max_stale_sessions: t.Optional[int]
    #: A security is not newly selected after this number of sessions without a price, or after max_stale_sessions if that is less. Unit: sessions.
    entry_stale_sessions: int
    #: A constituent without a price that is removed without an action leaves at its last price, or its value is written off (zero). Default: last_price.
    suspension: t.Literal["last_price", "zero"]
    #: A trade without a price uses the last price (carry), or waits for the next price bar (defer).
    stale_targets: t.Literal["carry", "defer"]
    #: The index is rebalanced if a limit is exceeded between reviews (rebalance), or nothing happens (none).
    on_breach: t.Literal["none", "rebalance"]
    #: Published rule. Its breach triggers a rebalance. Default: UCITS_5_10_40.
    breach_rule: t.Literal["UCITS_5_10_40", "UCITS_20_35", "RIC_25_5_50", "SEC_75_5_10"]


class _TrsPriceRequest(t.TypedDict):
    #: Notional of the swap.
    notional: float
    #: Effective date, or date of the last reset.
    start: Date
    #: After as_of.
    maturity: Date


class TrsPriceRequest(_TrsPriceRequest, total=False):
    #: Index whose level is the spot. Exactly one of index_id and spot is required.
    index_id: t.Optional[str]
    #: Spot level, greater than 0. Requires as_of.
    spot: t.Optional[float]
    #: Level at the last reset. Default: the index level at the start of the current period, or spot.
    initial_level: t.Optional[float]
    #: Valuation date. Default: the date of the latest level.
    as_of: t.Optional[Date]
    #: Direction of the return leg: received or paid.
    direction: t.Literal["receive", "pay"]
    #: Treatment of dividends in the return.
    return_type: t.Literal["total", "price"]
    #: Frequency of resets of the swap.
    reset_frequency: t.Literal["none", "monthly", "quarterly", "semi_annual", "annual"]
    #: Discount rate and floating index. A fraction, annual and continuously compounded. Default: 0.
    risk_free_rate: float
    #: Spread over the floating rate, simple, ACT/360.
    spread: float
    #: Dividend yield. A fraction, annual and continuously compounded. Default: 0.
    dividend_yield: float
    #: Stock borrow. A fraction, annual and continuously compounded. Default: 0.
    borrow_rate: float


class TrsPriceResponsePeriods(t.TypedDict):
    #: First date.
    start: str
    #: Last date.
    end: str
    #: Calendar days.
    days: int
    #: Value of the return of the period.
    equity: float
    #: Value of the interest of the period.
    financing: float
    #: Discount factor at the end of the period.
    discount_factor: float


class TrsPriceResponse(t.TypedDict):
    #: The index, or the strategy of a run.
    index_id: t.Optional[str]
    #: Requested value; null if omitted.
    requested_as_of: t.Optional[str]
    #: The resolved date.
    as_of: str
    #: First date.
    start: str
    #: Last date of the swap.
    maturity: str
    #: Direction of the return: received or paid.
    direction: t.Literal["receive", "pay"]
    #: Treatment of dividends in the return.
    return_type: t.Literal["total", "price"]
    #: Level of the underlying index.
    spot: float
    #: Level at the last reset.
    initial_level: float
    #: Notional of the swap.
    notional: float
    #: Value for the party with this `direction`.
    value: float
    #: Value of the return leg.
    equity_leg: float
    #: Value of the financing leg.
    financing_leg: float
    #: Return since the last reset, in money.
    accrued_equity: float
    #: Interest since the last reset, in money.
    accrued_financing: float
    #: The spread that makes the value zero.
    par_spread: float
    #: Change of the value per point of spot.
    delta: float
    #: Change of the value per basis point of the risk-free rate.
    rho: float
    #: Current and future periods.
    periods: t.Sequence[TrsPriceResponsePeriods]


class _TurnoverParams(t.TypedDict):
    #: Largest one-way turnover. Unit: fraction.
    limit: float


class TurnoverParams(_TurnoverParams, total=False):
    """One-way turnover relative to the reference portfolio (half the sum of absolute weight changes) is at most a limit. Securities of the reference that left the index are counted as sold. The default reference of a derived index is the weights held just before the rebalance, so that its first portfolio is unrestricted."""

    #: Portfolio from which trades are measured: the index, the previous solved weights, or the weights held just before the rebalance, after drift.
    reference: t.Literal["index", "previous", "held"]
    #: Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated.
    soft: t.Optional[float]
    #: Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy.
    priority: int


class _TurnoverRow(t.TypedDict):
    type: t.Literal["Turnover"]


class TurnoverRow(_TurnoverRow, total=False):
    #: Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position.
    id: str
    #: Parameters of the type, by name.
    params: TurnoverParams


class TypeSpec(t.TypedDict):
    #: Class name.
    type: str
    #: Human-readable name.
    label: str
    #: Catalogue that contains the class.
    category: t.Literal["selection", "weighting", "constraint", "objective", "expected_returns"]
    #: Description in one or two sentences.
    help: t.Optional[str]
    #: Parameters of the class in the order of a form.
    parameters: t.Sequence[ParameterSpec]
    #: Unit of the figure.
    unit: t.Optional[t.Literal["fraction", "count", "value"]]
    #: Kind of the object.
    kind: t.Optional[t.Literal["eq", "ineq"]]
    #: False for classes that make a result heuristic.
    convex: t.Optional[bool]
    #: Complete valid example.
    example: t.Optional[t.Mapping[str, t.Any]]


class Uncertainty(t.TypedDict):
    """Uncertainty sets of the estimates. The objective is optimised for the worst expected returns and covariances in these sets. Constraints use the estimates."""

    #: Errors of the expected returns; null if there are none.
    returns: t.Optional[ReturnsUncertainty]
    #: Errors of the covariances; null if there are none.
    covariance: t.Optional[CovarianceUncertainty]


class UncertaintyInput(t.TypedDict, total=False):
    """Uncertainty sets of the estimates. The objective is optimised for the worst expected returns and covariances in these sets. Constraints use the estimates."""

    #: Errors of the expected returns; null if there are none.
    returns: t.Optional[ReturnsUncertaintyInput]
    #: Errors of the covariances; null if there are none.
    covariance: t.Optional[CovarianceUncertainty]


class UnfilledOrderPayload(t.TypedDict):
    #: The date.
    date: str
    #: Asset identifier.
    asset_id: str
    #: Bought or sold.
    side: t.Literal["buy", "sell"]
    #: Target weight of the rebalance.
    target_weight: float
    #: Weight held after the close.
    held_weight: float
    #: Value of the order, positive.
    notional: float
    #: Reason.
    reason: t.Literal["no_price", "stale_price", "delisted"]
    #: Later session on which the order was filled; null if it was never filled.
    filled_on: t.Optional[str]


class UniverseMembership(t.TypedDict):
    #: Name of the universe.
    universe: str
    #: Display name.
    name: t.Optional[str]
    #: First day of the membership; null if it has no beginning.
    start: t.Optional[str]
    #: First day on which the security is no longer a member; null for a current member.
    end: t.Optional[str]
    #: True if the security is a member on as_of, or today.
    current: bool


class _UniverseSpec(t.TypedDict):
    #: Source of the securities: the market, an index, a list, or a set operation on other universes.
    kind: t.Literal["all", "named", "list", "index", "watchlist", "union", "difference", "intersection"]


class UniverseSpec(_UniverseSpec, total=False):
    #: For the kind `named`, a universe of the market. For `index`, an index with its constituents at each decision.
    id: t.Optional[str]
    #: Stored watchlist for the kind `watchlist`, as it is when the index is computed.
    watchlist_id: str
    #: Identifiers of the securities, for the kind `list`.
    identifiers: t.Sequence[str]
    #: Universes of a set operation: securities in any of them (union), in all of them (intersection), or only in the first one (difference). An index contributes its last decided constituents.
    of: t.Sequence[UniverseSpec]


class UniverseSpecInput(t.TypedDict, total=False):
    #: Source of the securities: the market, an index, a list, or a set operation on other universes.
    kind: t.Literal["all", "named", "list", "index", "watchlist", "union", "difference", "intersection"]
    #: For the kind `named`, a universe of the market. For `index`, an index with its constituents at each decision.
    id: t.Optional[str]
    #: Stored watchlist for the kind `watchlist`, as it is when the index is computed.
    watchlist_id: str
    #: Identifiers of the securities, for the kind `list`.
    identifiers: t.Sequence[str]
    #: Universes of a set operation: securities in any of them (union), in all of them (intersection), or only in the first one (difference). An index contributes its last decided constituents.
    of: t.Sequence[UniverseSpecInput]


class ValidatedFamily(t.TypedDict):
    """Means over the portfolios of a family."""

    #: equal_weight: all covered securities. index: the weights of the index. random: long-only, 20 securities. active: a random portfolio less the equally weighted portfolio. eigenportfolio: an eigenvector of the covariance.
    family: t.Literal["equal_weight", "index", "random", "active", "eigenportfolio"]
    #: Portfolios of the family.
    portfolios: int
    #: Fraction of the portfolios with a bias within the band; 0.95 for unbiased forecasts.
    share_in_band: float
    #: Standard deviation of the outcomes, each divided by its forecast. Above 1, risk was underestimated.
    bias: float
    #: Mean of z^2 - ln z^2 of the standardised outcomes; 2.27 for correct forecasts and normal returns.
    q_statistic: t.Optional[float]
    #: Mean of ln s^2 + z^2, where s is the forecast over the horizon. The model with the lower value forecasts better.
    qlike: float
    #: Mean of |bias - 1| over rolling windows of 12 outcomes; null with fewer outcomes. It is 0.17 for correct forecasts.
    mean_rolling_deviation: t.Optional[float]


class ValidatedPortfolio(t.TypedDict):
    #: equal_weight: all covered securities. index: the weights of the index. random: long-only, 20 securities. active: a random portfolio less the equally weighted portfolio. eigenportfolio: an eigenvector of the covariance.
    family: t.Literal["equal_weight", "index", "random", "active", "eigenportfolio"]
    #: Number within the family, from 1. Eigenportfolios are sorted by decreasing eigenvalue.
    number: int
    #: Number of forecasts with an outcome.
    observations: int
    #: Standard deviation of the outcomes, each divided by its forecast. Above 1, risk was underestimated.
    bias: float
    #: Mean of z^2 - ln z^2 of the standardised outcomes; 2.27 for correct forecasts and normal returns.
    q_statistic: t.Optional[float]
    #: Mean of ln s^2 + z^2, where s is the forecast over the horizon. The model with the lower value forecasts better.
    qlike: float
    #: Mean of |bias - 1| over rolling windows of 12 outcomes; null with fewer outcomes. It is 0.17 for correct forecasts.
    mean_rolling_deviation: t.Optional[float]
    #: Lower end of the 95% band of the bias of unbiased forecasts: 1 - sqrt(2 / observations).
    bias_low: float
    #: Upper end of the 95% band of the bias: 1 + sqrt(2 / observations).
    bias_high: float
    #: True if the bias is within the band.
    in_band: bool
    #: Root mean square of the forecasts, annualised.
    forecast_volatility: float
    #: Standard deviation of the outcomes, annualised.
    realised_volatility: float


class ValidationReport(t.TypedDict):
    #: True if a PUT of this body would succeed.
    valid: bool
    #: Findings, most severe first.
    findings: t.Sequence[Finding]


class _ValueNode(t.TypedDict):
    node: t.Literal["value"]
    #: Constant, or a list of constants such as the edges of ladder.
    value: t.Union[t.Union[float, str, bool], t.Sequence[t.Union[float, str, bool]]]


class ValueNode(_ValueNode, total=False):
    """A constant."""

    #: Canonical text of the tree, at its root; ignored in requests.
    text: str


class VersionDifferenceSentences(t.TypedDict):
    #: Sentences that only the first version contains.
    removed: t.Sequence[str]
    #: Sentences that only the second version contains.
    added: t.Sequence[str]


VersionDifference = t.TypedDict("VersionDifference", {
    "from": int,
    "to": int,
    "changes": t.Sequence["DocumentChange"],
    "sentences": "VersionDifferenceSentences",
})


class VersionList(t.TypedDict):
    #: Newest first.
    versions: t.Sequence[DocumentVersion]
    #: Number of stored versions, listed or not.
    total: int
    #: Number of stored documents that are omitted because they cannot be read.
    skipped: int
    #: Number of omitted documents by cause.
    skipped_causes: SkippedCauses


#: Document as it was stored, with its fields at that time.
VersionedDocument = t.Dict[str, t.Any]

class _View(t.TypedDict):
    #: Portfolio of the view: one security for an absolute view, or weights that sum to 0 for a relative view.
    weights: t.Mapping[str, float]
    #: Expected return of the portfolio, as a fraction per year.
    value: float


class View(_View, total=False):
    #: Confidence from 0 (no effect) to 1 (certainty).
    confidence: float


class VolatilityFilterParams(t.TypedDict, total=False):
    """Keeps securities with an annualised volatility between two bounds. The volatility uses the returns between price bars on consecutive sessions."""

    #: Number of trailing sessions of the calendar up to the decision date. Sessions without a price bar have no value. Unit: sessions.
    window: int
    #: Maximum volatility; null: no maximum. Unit: fraction per year.
    maximum: t.Optional[float]
    #: Minimum volatility; null: no minimum. Unit: fraction per year.
    minimum: t.Optional[float]
    #: Treatment of a security without a value of the datapoint. In a ranking, an included security without a value is last.
    missing: t.Literal["exclude", "include"]


class _VolatilityFilterRule(t.TypedDict):
    #: Id of the rule, unique within the pipeline.
    id: str
    type: t.Literal["VolatilityFilter"]


class VolatilityFilterRule(_VolatilityFilterRule, total=False):
    #: Parameters of the type, by name.
    params: VolatilityFilterParams
    #: Parameters that are tried, in order, if the rule keeps too few securities.
    fallback: t.Sequence[RuleFallback]


class _VolatilityParams(t.TypedDict):
    #: Largest annualised volatility. Unit: fraction a year.
    limit: float


class VolatilityParams(_VolatilityParams, total=False):
    """The annualised volatility of the portfolio is at most a limit."""

    #: Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated.
    soft: t.Optional[float]
    #: Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy.
    priority: int


class _VolatilityRow(t.TypedDict):
    type: t.Literal["Volatility"]


class VolatilityRow(_VolatilityRow, total=False):
    #: Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position.
    id: str
    #: Parameters of the type, by name.
    params: VolatilityParams


class WaitingOrder(t.TypedDict):
    """Order that waits for a bar, with `stale_targets: "defer"`."""

    #: Rebalance that placed the order.
    date: str
    #: Bought or sold.
    side: t.Literal["buy", "sell"]
    #: Weight of the order.
    target_weight: float
    #: Reason.
    reason: t.Literal["no_price", "stale_price", "delisted"]


class WaiveFacts(t.TypedDict):
    """Findings of a check that are accepted."""

    kind: t.Literal["waive"]
    #: The schedule.
    schedule_id: str
    #: Session.
    date: str
    #: Check whose findings are accepted.
    check: t.Literal["coverage", "staleness", "moves", "history", "actions", "confirmed_actions", "weights", "divisor", "limits", "second_source", "published"]
    #: Index, including the indices that depend on it; null for every index.
    index_id: t.Optional[str]
    #: Security or series; null for every finding of the check.
    identifier: t.Optional[str]
    #: Reason.
    reason: str
    #: Findings at the time of the request; at most 200.
    findings: t.Sequence[AcceptedFinding]
    #: Number of findings.
    total: int


class Waiver(t.TypedDict):
    #: Check whose findings are accepted.
    check: t.Literal["coverage", "staleness", "moves", "history", "actions", "confirmed_actions", "weights", "divisor", "limits", "second_source", "published"]
    #: Index, including the indices that depend on it; null for every index.
    index_id: t.Optional[str]
    #: Security; null for every finding of the check.
    identifier: t.Optional[str]
    #: Why.
    reason: str
    #: Name of the key.
    author: str
    #: Id of the key.
    key_id: t.Optional[str]
    #: Time of the decision.
    at: str


class _WalkForwardFolds(t.TypedDict):
    method: t.Literal["walk_forward"]


class WalkForwardFolds(_WalkForwardFolds, total=False):
    """Every group after the first sample is tested. The earlier groups are its sample."""

    #: Number of groups of equal length into which time is divided.
    groups: int
    #: Metric by which a variant is selected in sample. The first of equal variants is selected.
    select_by: t.Literal["sharpe_ratio", "annualised_return", "max_drawdown", "volatility"]
    #: Number of sample sessions that are excluded before and after every test, because closes of one day occur at different times.
    purge: int
    #: Number of groups in the sample before the first test.
    train_groups: int
    #: `expanding`: the sample is everything before the test. `rolling`: the sample is the last `train_groups` groups before the test.
    window: t.Literal["expanding", "rolling"]


class Watchlist(t.TypedDict):
    #: The watchlist.
    watchlist_id: str
    #: Display name.
    name: str
    #: Free text.
    description: t.Optional[str]
    #: Identifiers in the order of the client, without duplicates.
    identifiers: t.Sequence[str]
    #: Time of the last change, ISO-8601 UTC with offset.
    updated_at: str
    #: Identifiers that the served store does not contain; all identifiers if no store is served.
    unknown: t.Sequence[str]


class WatchlistCollection(t.TypedDict):
    #: Watchlists by id.
    watchlists: t.Sequence[Watchlist]
    #: Number of stored documents that are omitted because they cannot be read.
    skipped: int
    #: Number of omitted documents by cause.
    skipped_causes: SkippedCauses


class _WatchlistUpsert(t.TypedDict):
    #: Display name.
    name: str


class WatchlistUpsert(_WatchlistUpsert, total=False):
    #: Free text.
    description: t.Optional[str]
    #: Identifiers in display order, without duplicates.
    identifiers: t.Sequence[str]


class WeightChange(t.TypedDict):
    #: Asset identifier.
    identifier: str
    #: Value before the change.
    before: float
    #: Value after the change.
    after: float
    #: Value after less value before.
    change: float


class WeightFigures(t.TypedDict):
    #: Objective in its measure, including costs; null if it is undefined for the weights.
    objective_value: t.Optional[float]
    #: Annualised expected return before costs; null without expected returns.
    expected_return: t.Optional[float]
    #: Annualised volatility, with the risk model of the optimisation.
    volatility: float
    #: Annualised tracking error against the index.
    tracking_error: float
    #: One-way turnover against the index weights.
    turnover: float


class WeightRow(t.TypedDict):
    #: Asset identifier.
    identifier: str
    #: Optimised weight.
    weight: float
    #: Weight in the target index.
    index_weight: float
    #: weight - index_weight.
    active_weight: float
    #: Contribution to the tracking error. The contributions add up to the tracking error.
    risk_contribution: float
    #: Fraction of the portfolio variance. The fractions add up to 1.
    variance_share: float
    #: Binding bound of the position; null if no bound is binding.
    at_bound: t.Optional[t.Literal["lower", "upper"]]


class WeightSumParams(t.TypedDict, total=False):
    """The sum of the weights is between two bounds, and the rest is cash. Replaces FullInvestment. A monitored constraint accepts sums from -10 to 10, which overlays can have."""

    #: Smallest sum. Unit: fraction.
    lower: float
    #: Largest sum. Unit: fraction.
    upper: float
    #: Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated.
    soft: t.Optional[float]
    #: Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy.
    priority: int


class _WeightSumRow(t.TypedDict):
    type: t.Literal["WeightSum"]


class WeightSumRow(_WeightSumRow, total=False):
    #: Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position.
    id: str
    #: Parameters of the type, by name.
    params: WeightSumParams


class _WeightedAverageParams(t.TypedDict):
    #: Name of a datapoint, or an expression of datapoints as text or as nodes, as known on the rebalance date.
    field: t.Union[str, ExpressionNodeInput]


class WeightedAverageParams(_WeightedAverageParams, total=False):
    """The weighted average of a datapoint over the invested weight is between two bounds, or between two multiples of the average of the index."""

    #: Smallest average, or multiple of the average of the index.
    lower: t.Optional[t.Union[float, BoundPath]]
    #: Largest average, or multiple of the average of the index.
    upper: t.Optional[t.Union[float, BoundPath]]
    #: If true, the bounds are multiples of the average of the index.
    relative: bool
    #: Treatment of a security without a value: it is excluded from the average (renormalise), or its value is zero (zero).
    missing: t.Literal["zero", "renormalise"]
    #: Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated.
    soft: t.Optional[float]
    #: Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy.
    priority: int


class _WeightedAverageRow(t.TypedDict):
    type: t.Literal["WeightedAverage"]


class WeightedAverageRow(_WeightedAverageRow, total=False):
    #: Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position.
    id: str
    #: Parameters of the type, by name.
    params: WeightedAverageParams


class WeightedPercentiles(t.TypedDict):
    """Smallest value for which the securities with at most this value have this fraction of the weights."""

    #: 10%. One value per date; null if no holding has a value.
    p10: t.Sequence[t.Optional[float]]
    #: 25%. One value per date; null if no holding has a value.
    p25: t.Sequence[t.Optional[float]]
    #: The median. One value per date; null if no holding has a value.
    p50: t.Sequence[t.Optional[float]]
    #: 75%. One value per date; null if no holding has a value.
    p75: t.Sequence[t.Optional[float]]
    #: 90%. One value per date; null if no holding has a value.
    p90: t.Sequence[t.Optional[float]]


class _WeightingSpec(t.TypedDict):
    #: Weighting class; see /indices/rule-types.
    type: str
    #: Parameters of the type, by name.
    params: t.Mapping[str, t.Any]
    #: Maximum weight of a constituent: a number, or an expression such as min(0.09, 3 * weight_in("PARENT")), which is evaluated for each constituent. Default: no maximum. Unit: fraction.
    cap: t.Optional[t.Union[float, str, Datapoint, ExpressionNode]]
    #: Minimum weight of a security. Default: no minimum. Unit: fraction.
    floor: t.Optional[float]
    #: Maximum weights of groups.
    group_caps: t.Sequence[GroupCap]


class WeightingSpec(_WeightingSpec, total=False):
    #: Reference column, such as ISSUER. `cap` and `ladder_caps` then limit the weight of each group of this column instead of each constituent. A constituent without a value is a separate group.
    cap_by: str
    #: Caps that apply if a limit is exceeded: first caps of single weights, then a cap of the total of large weights.
    ladder_caps: LadderCaps
    #: Datapoint that multiplies the raw weights. Its changes are phased in over several reviews.
    phase_in: PhaseIn


class _WeightingSpecInput(t.TypedDict):
    #: Weighting class; see /indices/rule-types.
    type: str


class WeightingSpecInput(_WeightingSpecInput, total=False):
    #: Parameters of the type, by name.
    params: t.Mapping[str, t.Any]
    #: Maximum weight of a constituent: a number, or an expression such as min(0.09, 3 * weight_in("PARENT")), which is evaluated for each constituent. Default: no maximum. Unit: fraction.
    cap: t.Optional[t.Union[float, str, DatapointInput, ExpressionNodeInput]]
    #: Minimum weight of a security. Default: no minimum. Unit: fraction.
    floor: t.Optional[float]
    #: Maximum weights of groups.
    group_caps: t.Sequence[GroupCapInput]
    #: Reference column, such as ISSUER. `cap` and `ladder_caps` then limit the weight of each group of this column instead of each constituent. A constituent without a value is a separate group.
    cap_by: str
    #: Caps that apply if a limit is exceeded: first caps of single weights, then a cap of the total of large weights.
    ladder_caps: LadderCaps
    #: Datapoint that multiplies the raw weights. Its changes are phased in over several reviews.
    phase_in: PhaseInInput


class WeightsCheck(t.TypedDict):
    """Weights, including cash, add up to 1, and are not negative in an index without short positions."""

    check: t.Literal["weights"]
    #: Findings block the index (block), or are only reported (warn). Default: block.
    severity: t.Literal["block", "warn"]
    #: Largest difference of the sum from 1.
    tolerance: float


class _WeightsCheckInput(t.TypedDict):
    check: t.Literal["weights"]


class WeightsCheckInput(_WeightsCheckInput, total=False):
    """Weights, including cash, add up to 1, and are not negative in an index without short positions."""

    #: Findings block the index (block), or are only reported (warn). Default: block.
    severity: t.Literal["block", "warn"]
    #: Largest difference of the sum from 1.
    tolerance: float


class _WeightsView(t.TypedDict):
    #: Version of the index or strategy; null for runs that were stored before versions existed.
    index_version: t.Optional[int]
    #: Data store on which the run was computed; null for runs that were stored without it.
    store_id: t.Optional[str]
    #: Causes why the run is stale; null if the stored run equals a new run of the request.
    stale: t.Optional[StaleState]
    #: The index, or the strategy of a run.
    index_id: str
    #: Requested value; null if omitted.
    requested_as_of: t.Optional[str]
    #: The resolved date.
    as_of: str
    #: Date of the rebalance in force.
    rebalance_date: str
    #: Maximum weight of a security; null if there is none.
    cap: t.Optional[float]
    #: Securities, the largest weight first, and last the cash that an overlay holds or owes, with which its weights sum to 1.
    weights: t.Sequence[ConstituentRow]
    #: Concentration of the weights.
    concentration: ConcentrationPayload
    #: Drift of the weights since the rebalance; null on the rebalance date.
    drift: t.Optional[DriftPayload]
    #: Decomposition of the volatility, if it was requested.
    risk: t.Optional[RiskPayload]
    #: Decomposition of the tracking error, if a benchmark and risk were requested.
    active_risk: t.Optional[ActiveRiskPayload]


class WeightsView(_WeightsView, total=False):
    #: Long, short, gross and net exposure of the held weights; absent without a short position.
    exposure: ExposurePayload


class WhatIfRequest(t.TypedDict, total=False):
    """Exactly one of index_id and document, and exactly one of patch and changed, are required."""

    #: Id of a stored index that is the base.
    index_id: t.Optional[str]
    #: Document that is the base, instead of index_id.
    document: t.Optional[IndexDocumentBody]
    #: Changes to the base: a JSON merge patch (RFC 7396), which replaces whole arrays.
    patch: t.Optional[t.Mapping[str, t.Any]]
    #: Complete changed document, instead of patch.
    changed: t.Optional[IndexDocumentBody]
    #: Decision date of both definitions. Default: the latest date of the store.
    as_of: t.Optional[Date]
    #: Version of the data: a number, or the newest version known at a time (for a date: its end, in UTC).
    as_known_on: t.Union[int, str]


class WhatIfResponse(t.TypedDict):
    #: The resolved date.
    as_of: str
    #: Latest session with data on or before the date; null if the date is before the first session.
    resolved_date: t.Optional[str]
    #: Value before the change.
    before: WhatIfSide
    #: Value after the change.
    after: WhatIfSide
    #: Securities that are only in the changed definition.
    added: t.Sequence[WeightChange]
    #: Securities that are only in the base.
    removed: t.Sequence[WeightChange]
    #: Securities with different weights in the two definitions.
    changed: t.Sequence[WeightChange]
    #: One-way turnover: half the sum of the absolute changes.
    turnover: float
    #: Warnings about the changed document.
    findings: t.Sequence[Finding]


class _WhatIfSide(t.TypedDict):
    #: The index, or the strategy of a run.
    index_id: str
    #: Number of securities with a weight above 0.
    constituents: int
    #: Largest weight.
    largest: float
    #: 1 divided by the sum of squared weights: the number of equal weights with the same concentration. Cash raises the number, and leverage lowers it.
    effective_assets: float
    #: Securities with a position, long or short.
    gross_constituents: int
    #: Maximum weight of a security; null if there is none.
    cap: t.Optional[float]
    #: Weight that was redistributed from capped securities.
    cap_redistributed: float
    #: Trigger of a rebalance that was decided on that date: the schedule, a breach with `treatment.on_breach`, or a change of constituents by `events`. Null if there was no rebalance.
    cause: t.Optional[t.Literal["schedule", "breach", "replacement", "fast_entry", "fast_exit"]]


class WhatIfSide(_WhatIfSide, total=False):
    #: Rule that triggers rebalances of the index on a breach.
    limits: PreviewLimits


class WindowScenarioWindow(t.TypedDict):
    #: First date.
    start: str
    #: Last date.
    end: str


class WindowScenario(t.TypedDict):
    #: Display name.
    name: str
    #: Past window. The return is that of a buy-and-hold portfolio from the close before `start` to the close of `end`.
    window: WindowScenarioWindow


class _WithholdingRates(t.TypedDict):
    #: Reference column of the store, such as COUNTRY.
    field: str
    #: Fractions that are withheld, by the value of the field.
    rates: t.Mapping[str, float]


class WithholdingRates(_WithholdingRates, total=False):
    #: Fraction for values without a rate. Default: such a value is an error (NO_RATE).
    default: float


class WorstCase(t.TypedDict):
    """Figures of the weights with the estimates, and in the worst case of the uncertainty sets."""

    #: Objective with the estimates, in the measure of the objective.
    nominal: float
    #: Smallest expected return in the uncertainty set, annualised and before costs; null without expected returns.
    expected_return: t.Optional[float]
    #: Largest volatility in the uncertainty set, annualised.
    volatility: float

