/**
 * Common parts of stored documents with their default values. The most frequent parts come last, nearest to the text.
 * Stored versions depend on this dictionary, so it must never change. A different dictionary needs a different mark in
 * `version-content.ts`.
 */
export const DICTIONARY = [
  '{"template_id":"","name":"","blocks":[{"kind":"header","title":null,"index_id":"","width":"full","subtitle":"",',
  '"stamp":true},{"kind":"stat_grid","stats":["total_return","volatility","sharpe_ratio"],"columns":4,"values":null},',
  '{"kind":"chart","lines":["level","benchmark"],"log_scale":false,"rule":null,"height":180},{"kind":"table"}],',
  '"page":{"size":"A4","orientation":"portrait","margin":48}}',
  '{"watchlist_id":"","name":"","description":null,"identifiers":["AAPL","MSFT"],"updated_at":"2026-01-01T00:00:00.000',
  '000+00:00"}{"adjustment":"none","currency":null,"kind":"imported","mapping":null,"name":"","source":null,',
  '"store_id":"","synthetic":null,"tables":{}}{"id":"","name":"","constraints":[{"type":"PositionBounds","id":"pos",',
  '"params":{"lower":0,"upper":0.05}},{"type":"ActiveGroupBounds","id":"sec","params":{"field":"SECTOR","lower":-0.02,',
  '"upper":0.02}},{"type":"Turnover","id":"turn","params":{"limit":0.15,"priority":2,"reference":"index"}}]}',
  '"benchmark":null,"start":null,"end":null,"initial_capital":1000000,"transaction_cost_bps":5,"constraint_set_id":',
  'null,"rebalance":{"frequency":"annual","anchor":"last_session"},"drift_tolerance":0.002,"exposure":0.98}',
  '{"objective":{"type":"min_tracking_error"},"risk_model":null,"source_index_id":"","overlay":null,"kind":"overlay"',
  '{"type":"TopN","params":{"count":50,"field":"FREE_FLOAT_MARKET_CAP"}},{"type":"EqualWeight","params":{}}',
  '{"id":"","name":"","description":null,"calendar":"XNYS","base_date":"2020-01-02","base_value":100,"currency":"USD",',
  '"universe":{"kind":"all"},"universe":{"kind":"list","identifiers":["rebalance":{"frequency":"quarterly",',
  '"anchor":"third_friday","months":null,"weekday":null,"nth":null,"day":null,"roll":"following","effective_lag":0,',
  '"dates":[]},"pipeline":{"selection":[{"id":"liquid","type":"LiquidityFilter","params":{"minimum":5000000}},',
  '{"id":"size","type":"BufferedTopN","params":{"count":100,"field":"FREE_FLOAT_MARKET_CAP"}}],"selection":[],',
  '"treatment":{"dividends":"total","withholding_tax":0,"special_dividends":"reinvest","splits":"apply","delisting":',
  '"action_value","spin_offs":"zero_price","missing_prices":"carry","max_stale_sessions":5,"stale_targets":"carry"},',
  '"weighting":{"type":"EqualWeight","type":"MarketCapWeight","params":{"free_float":true},"params":{},"cap":0.1,',
  '"cap":null,"floor":null,"group_caps":[]}},"derivation":null,"tags":[]}',
].join('');
