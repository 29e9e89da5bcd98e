import { expect, test } from 'vitest';
import { reportIdleSettings } from '#domain/definition/optimisation.js';
import { ESTIMATORS, RiskModelRequest } from '#domain/risk/risk-models.js';

const SET = {
  factors: 3,
  eigenvalue_simulations: 100,
  threshold: 0.7,
  lags: 2,
  target: 'scaled_identity',
  intensity: 0.3,
  intensity_method: 'ledoit_wolf',
  half_life: 60,
};

test.each([
  ['shrinkage', ['factors', 'eigenvalue_simulations', 'threshold', 'lags']],
  ['gerber', ['factors', 'eigenvalue_simulations', 'lags', 'target', 'intensity', 'intensity_method', 'half_life']],
  ['styles', ['factors', 'threshold', 'lags', 'target', 'intensity', 'intensity_method']],
] as const)('a setting that the estimator does not read is reported: %s', (estimator, idleSetting) => {
  const findings = reportIdleSettings(RiskModelRequest.parse({ ...SET, estimator }), 'risk_model.');
  expect(findings.map(({ path }) => path)).toEqual(idleSetting.map((name) => `risk_model.${name}`));
  for (const finding of findings) expect(finding).toMatchObject({ severity: 'warning', code: 'NO_EFFECT' });
});

test('defaults are not reported', () => {
  for (const estimator of ESTIMATORS) expect(reportIdleSettings(RiskModelRequest.parse({ estimator }), '')).toEqual([]);
});

test('the message states which estimators read the setting', () => {
  const [finding] = reportIdleSettings(RiskModelRequest.parse({ estimator: 'gerber', half_life: 60 }), '');
  expect(finding).toMatchObject({
    value: 60,
    message: 'half_life has no effect: gerber does not read it; shrinkage, newey_west, industries, styles do.',
  });
});
