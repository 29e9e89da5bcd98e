import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { CONSTRAINT_CLASSES, findConstraintClass, listConstraintSpecs } from '#domain/definition/constraints.js';
import { validateConstraints } from '#domain/definition/constraint-sets.js';
import { ConstraintRow } from '#domain/definition/constraint-class.js';

/**
 * Class, kind, unit, convexity and parameters (`name=default`, `name!` if required) as the interface document lists
 * them.
 */
const EXPECTED_CATALOGUE = `
FullInvestment | eq fraction yes |
WeightSum | ineq fraction yes | lower=1 upper=1
GrossExposure | ineq fraction yes | upper!
LongOnly | ineq fraction yes |
PositionBounds | ineq fraction yes | lower=0 upper=1 identifiers=null
RelativePositionBounds | ineq fraction yes | lower=0 upper! identifiers=null
ActiveBounds | ineq fraction yes | lower! upper! identifiers=null
GroupBounds | ineq fraction yes | field! groups=null lower=0 upper=1
ActiveGroupBounds | ineq fraction yes | field! groups=null lower! upper! small_group=null
RelativeGroupBounds | ineq fraction yes | field! groups=null lower=0 upper!
Turnover | ineq fraction yes | limit! reference="index"
TradeSize | ineq fraction yes | upper! reference="index"
TrackingError | ineq fraction yes | limit!
Volatility | ineq fraction yes | limit! relative=false
CVaR | ineq fraction yes | limit! confidence=0.95 scenarios=null source="historical" draws=5000 block=21 degrees_of_freedom=5 seed=0
CDaR | ineq fraction yes | limit! confidence=0.95 scenarios=null
ActiveShare | ineq fraction yes | limit!
EffectiveNumber | ineq count yes | minimum!
FactorExposure | ineq value yes | field! lower=null upper=null standardise=true active=false
WeightedAverage | ineq value yes | field! lower=null upper=null relative=false missing="renormalise"
Beta | ineq value yes | lower=null upper=null
ExpectedReturn | ineq fraction yes | lower!
Liquidity | ineq fraction yes | notional! participation=0.2 days=1 window=60
LinearConstraint | ineq value yes | coefficients! lower=null upper=null
Exclude | eq fraction yes | identifiers!
Freeze | eq fraction yes | identifiers! reference="index"
Cardinality | ineq count no | minimum=1 maximum=100000
MinimumHolding | ineq fraction no | threshold!
GroupCardinality | ineq count no | field! groups=null minimum=0 maximum=100000
Concentration5_10_40 | ineq fraction no | single=0.1 trigger=0.05 aggregate=0.4
ConcentrationRIC | ineq fraction no | single=0.25 trigger=0.05 aggregate=0.5
`
  .trim()
  .split('\n');

const check = (rows: unknown[]) =>
  validateConstraints(
    rows.map((row) => ConstraintRow.parse(row)),
    { path: 'constraints' },
  );

describe('the constraint catalogue', () => {
  test.each(EXPECTED_CATALOGUE)('%s', (line) => {
    const [type, traits, parameters] = line.split('|').map((part) => part.trim());
    const spec = listConstraintSpecs().find((candidate) => candidate.type === type)!;
    expect(`${spec.kind} ${spec.unit} ${spec.convex ? 'yes' : 'no'}`).toBe(traits);
    const list = [...parameters!.split(' ').filter((text) => text !== ''), 'soft=null', 'priority=1'];
    expect(
      spec.parameters.map(({ name, required, default: value }) =>
        required ? `${name}!` : `${name}=${JSON.stringify(value)}`,
      ),
    ).toEqual(list);
  });

  test('holds the listed classes in the listed order', () => {
    expect(CONSTRAINT_CLASSES.map(({ type }) => type)).toEqual(EXPECTED_CATALOGUE.map((line) => line.split(' ')[0]));
  });

  test('the optimiser names no class: it asks for properties of the class', () => {
    const folder = 'src/domain/optimisation';
    const text = readdirSync(folder)
      .filter((file) => file.endsWith('.ts'))
      .map((file) => readFileSync(`${folder}/${file}`, 'utf8'))
      .join('\n');
    expect(text).not.toBe('');
    expect(CONSTRAINT_CLASSES.map(({ type }) => type).filter((type) => text.includes(`'${type}'`))).toEqual([]);
  });

  test.each(listConstraintSpecs())('$type: the example is a valid row', ({ example }) => {
    expect(check([example])).toEqual([]);
  });

  test('every choice validates and a required parameter has no default', () => {
    for (const { type, parameters, example } of listConstraintSpecs()) {
      for (const { name, choices, required, default: value } of parameters) {
        if (required) expect(value).toBeUndefined();
        for (const choice of choices ?? []) {
          const params = { ...(example!.params as object), [name]: choice };
          expect(check([{ type, params }])).toEqual([]);
        }
      }
    }
  });

  test('every class and parameter has a label and help, and every number of weights its unit', () => {
    for (const { type, label, help, parameters } of listConstraintSpecs()) {
      expect(label, type).not.toBe('');
      expect(help, type).toMatch(/\.$/);
      for (const parameter of parameters) expect(parameter.help, `${type}.${parameter.name}`).not.toBeNull();
    }
    expect(findConstraintClass('PositionBounds')!.params.shape.upper).toBeDefined();
  });
});

describe('validateConstraints', () => {
  test('an unknown class is reported with the accepted set', () => {
    const [finding] = check([{ type: 'PositionLimits', id: 'a', params: {} }]);
    expect(finding).toMatchObject({
      code: 'UNKNOWN_TYPE',
      path: 'constraints[0].type',
      row_id: 'a',
      value: 'PositionLimits',
    });
    expect(finding!.accepted).toEqual(CONSTRAINT_CLASSES.map(({ type }) => type));
  });

  test('unknown, missing and ill-typed parameters are reported at their paths', () => {
    const findings = check([
      { type: 'Turnover', params: { limit: 0.1, side: 'buy' } },
      { type: 'Turnover', params: {} },
      { type: 'Turnover', params: { limit: '0.1' } },
      { type: 'Turnover', params: { limit: 0.1, reference: 'last' } },
    ]);
    expect(findings.map(({ path, code }) => `${path} ${code}`)).toEqual([
      'constraints[0].params.side UNKNOWN_PARAMETER',
      'constraints[1].params.limit MISSING_PARAMETER',
      'constraints[2].params.limit WRONG_TYPE',
      'constraints[3].params.reference NOT_IN_CHOICES',
    ]);
    expect(findings[0]).toMatchObject({ accepted: ['limit', 'reference', 'soft', 'priority'] });
  });

  test('an empty range and a fraction in percent are refused with both numbers', () => {
    const [empty] = check([{ type: 'PositionBounds', id: 'p', params: { lower: 0.2, upper: 0.1 } }]);
    expect(empty).toMatchObject({ code: 'EMPTY_RANGE', path: 'constraints[0].params.upper', row_id: 'p' });
    expect(empty!.message).toContain('0.2');
    expect(empty!.message).toContain('0.1');
    expect(check([{ type: 'PositionBounds', params: { upper: 5 } }])[0]).toMatchObject({
      code: 'OUT_OF_RANGE',
      path: 'constraints[0].params.upper',
    });
    expect(check([{ type: 'Cardinality', params: { minimum: 9, maximum: 3 } }])[0]).toMatchObject({
      code: 'EMPTY_RANGE',
    });
  });

  test('a limit in percent, a second bound and a missing one are refused for gross exposure and expected return', () => {
    const findings = check([
      { type: 'GrossExposure', params: { upper: 150 } },
      { type: 'GrossExposure', params: { upper: -0.1 } },
      { type: 'GrossExposure', params: { limit: 1.5 } },
      { type: 'ExpectedReturn', params: { lower: '5%' } },
      { type: 'ExpectedReturn', params: { lower: 0.05, upper: 0.1 } },
    ]);
    expect(findings.map(({ path, code }) => `${path} ${code}`)).toEqual([
      'constraints[0].params.upper OUT_OF_RANGE',
      'constraints[1].params.upper OUT_OF_RANGE',
      'constraints[2].params.limit UNKNOWN_PARAMETER',
      'constraints[2].params.upper MISSING_PARAMETER',
      'constraints[3].params.lower WRONG_TYPE',
      'constraints[4].params.upper UNKNOWN_PARAMETER',
    ]);
  });

  test('row ids are unique when they are not empty', () => {
    const findings = check([
      { type: 'LongOnly', id: 'a' },
      { type: 'LongOnly', id: '' },
      { type: 'LongOnly', id: '' },
      { type: 'LongOnly', id: 'a' },
    ]);
    expect(findings).toMatchObject([{ code: 'DUPLICATE_ROW_ID', path: 'constraints[3].id', row_id: 'a' }]);
  });

  test('a security outside the index is a warning', () => {
    const rows = [ConstraintRow.parse({ type: 'Exclude', params: { identifiers: ['A', 'Z'] } })];
    const findings = validateConstraints(rows, { path: 'derivation.constraints', identifiers: new Set(['A', 'B']) });
    expect(findings).toMatchObject([
      { severity: 'warning', code: 'NOT_IN_INDEX', path: 'derivation.constraints[0].params.identifiers[1]' },
    ]);
  });
});
