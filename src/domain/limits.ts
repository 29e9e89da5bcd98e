/**
 * Every limit that a client can meet, by the name under which `GET /health` publishes it.
 * Sizes are bytes, durations carry their unit in the name.
 */
export const LIMITS = {
  /** Rebalance snapshots served per book; 33 years of monthly rebalances. */
  MAX_REBALANCES: 400,
  /** Rows of a served weights panel: three years of sessions. */
  MAX_WEIGHT_DATES: 756,
  /** Rows of a served positions table. */
  MAX_POSITION_ROWS: 20_000,
  /** Annualisation constant, on every calendar. */
  PERIODS_PER_YEAR: 252,
  /** How far a schedule looks ahead of its `asof` date. */
  SCHEDULE_LOOKAHEAD_DAYS: 366,
  /** Default age, in sessions of its own calendar, past which a bar no longer prices a name. */
  MAX_STALE_SESSIONS: 5,
  /** Returns a name needs to take part in a covariance estimate. */
  MIN_NAME_OBSERVATIONS: 20,
  /** Complete rows a covariance estimate needs. */
  MIN_MODEL_OBSERVATIONS: 20,
  /** Scenarios of an objective: twenty years of sessions. */
  MAX_SCENARIOS: 5000,
  /** Trailing returns behind the risk model of a derived index. */
  DERIVED_RISK_SESSIONS: 504,
  /** Body of every route but the import. */
  MAX_BODY_BYTES: 1_048_576,
  /** Body of `POST /data/import`. */
  MAX_IMPORT_BYTES: 67_108_864,
  /** A table that is the body of `POST /data/import`: it lies on disk, and 4 GiB are 100 million rows of market data. */
  MAX_IMPORT_TABLE_BYTES: 4_294_967_296,
  /** Panels of a content that is copied when it is served: 7000 names x 25 years x 6 columns. */
  MAX_COPIED_CONTENT_BYTES: 2_147_483_648,
  /** Nesting of a JSON body. */
  MAX_JSON_DEPTH: 64,
  /** Age of a heartbeat past which a running job is queued again. */
  HEARTBEAT_TIMEOUT_SECONDS: 60,
  /** Wall time of one attempt of a job. */
  MAX_JOB_SECONDS: 3600,
  /** Time a cancelled job has to give its worker back. */
  CANCEL_GRACE_SECONDS: 2,
  /** Indices of `POST /analytics/backtests`: as many answers as a listing of jobs. */
  MAX_BATCH_IDS: 500,
  /** Runs of `GET /analytics/compare`. */
  MAX_COMPARE_IDS: 32,
  /** Starts of one job before it counts as poison. */
  MAX_ATTEMPTS: 3,
  /** Jobs waiting for a worker. */
  MAX_QUEUED_JOBS: 10_000,
  /** Jobs of one key that may wait. */
  MAX_KEY_QUEUED_JOBS: 100,
  /** Heavy jobs of one key that run at once; half of the workers where that is more. */
  MAX_KEY_RUNNING_JOBS: 4,
  /** Requests of one key a second, in the long run: a tenth of what one process answers. */
  MAX_KEY_REQUESTS_PER_SECOND: 1000,
  /** Requests of one key at once, after it has been silent: ten seconds of them. */
  MAX_KEY_REQUEST_BURST: 10_000,
  /** Ended jobs that are remembered; the oldest make room. What starts in two seconds with room to spare. */
  MAX_ENDED_JOBS: 20_000,
  /** Jobs of one listing. */
  MAX_LISTED_JOBS: 500,
  /** Longest `wait` of a job's status. */
  MAX_WAIT_SECONDS: 60,
  /** Longest stream of the events of all jobs: a client that wants more comes back. */
  MAX_STREAM_SECONDS: 3600,
  /** Streams of job events that are open at once. */
  MAX_EVENT_STREAMS: 1000,
  /** Exports that are read at once: each holds 4 MiB. */
  MAX_OPEN_EXPORTS: 100,
  /** Wall time of a computation that is answered at once (previews, what-if). */
  MAX_QUERY_SECONDS: 60,
  /** Sessions of a simulated path: ten years. */
  MAX_SIMULATION_SESSIONS: 2520,
  /** Paths of a simulation: four numbers of each are kept. */
  MAX_SIMULATION_PATHS: 1_000_000,
  /** Variants of a sweep: twice what is measured to fit in a minute. */
  MAX_SWEEP_VARIANTS: 2000,
  /** Callbacks of one job: so many clients may ask for the same work. */
  MAX_JOB_CALLBACKS: 10,
  /** Messages of callbacks that wait to be delivered: one for each job that may wait. */
  MAX_WAITING_CALLBACKS: 10_000,
  /** Attempts to deliver one message: five hours of a receiver that does not answer. */
  MAX_CALLBACK_ATTEMPTS: 16,
  /** Time that a receiver has for its answer. */
  MAX_CALLBACK_SECONDS: 10,
  /** Depth of an expression tree. */
  MAX_EXPRESSION_DEPTH: 16,
  /** Nodes of an expression tree. */
  MAX_EXPRESSION_NODES: 256,
  /** Blocks of a report template. */
  MAX_REPORT_BLOCKS: 100,
  /** Pages of a rendered report. */
  MAX_REPORT_PAGES: 200,
  /** Points drawn in one chart: four for every half point of an A3 page's width. */
  MAX_REPORT_POINTS: 20_000,
  /** Wall time of one rendering. */
  MAX_RENDER_SECONDS: 30,
} as const;

export type LimitName = keyof typeof LIMITS;
