import { describe, expect, test } from 'vitest';
import { checkParams } from '#domain/definition/catalogue.js';
import {
  findSelectionClass,
  findWeightingClass,
  listRuleTypes,
  SELECTION_CLASSES,
} from '#domain/definition/rule-pipeline.js';
import { WEIGHTING_CLASSES } from '#domain/definition/weighting-classes.js';

const classes = [...SELECTION_CLASSES, ...WEIGHTING_CLASSES];
const specs = [...listRuleTypes().selection, ...listRuleTypes().weighting];

/** Names, defaults and choices of parameters in the contract. `!` marks a required parameter. */
const CONTRACT: Readonly<Record<string, string>> = {
  ExpressionFilter: 'expression!',
  FieldFilter: 'field! comparison! value!',
  CategoryFilter: 'field! include=null exclude=null',
  IncludeList: 'identifiers!',
  ExcludeList: 'identifiers!',
  TopN: 'field="MARKET_CAP" count! ascending=false group_by=null',
  BufferedTopN: 'field="MARKET_CAP" count! enter_rank=null exit_rank=null ascending=false group_by=null',
  TopFraction: 'field! fraction! ascending=false group_by=null',
  CumulativeCoverage:
    'field="FREE_FLOAT_MARKET_CAP" coverage! buffer=0 group_by=null rank_field=null ascending=false lower=null upper=null crossing="include" over="selection"',
  RangeFilter: 'field! minimum=null maximum=null inclusive=true',
  MarketCapFilter: 'minimum=null maximum=null free_float=true incumbent_minimum=null',
  LiquidityFilter: 'minimum! window=60 statistic="median" incumbent_minimum=null',
  PriceFilter: 'minimum=null maximum=null',
  FreeFloatFilter: 'minimum=0.15',
  SeasoningFilter: 'sessions=63',
  HistoryFilter: 'sessions=252 coverage=0.95',
  VolatilityFilter: 'window=252 maximum=null minimum=null',
  MomentumFilter: 'window=252 skip=21 minimum=0',
  DividendFilter: 'minimum_yield=0 minimum_years=0',
  OnePerIssuer: 'issuer_field="ISSUER" field="VALUE_TRADED" window=60',
  GroupLimit: 'field! rank_field="MARKET_CAP" maximum!',
  CompositeScore: 'terms! count=null minimum=null',
  MembershipFilter: 'index_id! in=true',
  Quota: 'field! quotas! rank_field="MARKET_CAP" ascending=false',
  PluginFilter: 'plugin!',
  EqualWeight: '',
  MarketCapWeight: 'free_float=true float_field=null',
  PriceWeight: 'factor_field=null splits="divisor"',
  FieldWeight: 'field! power=1 negative="zero"',
  FixedWeight: 'weights! renormalise=true',
  RankWeight: 'field! ascending=false scheme="linear"',
  InverseVolatilityWeight: 'window=252 minimum_observations=60',
  EqualRiskWeight: 'window=252 target="constant_correlation" intensity=null',
  MinimumVarianceWeight: 'window=252 target="constant_correlation" intensity=null upper=1',
  MaximumDiversificationWeight:
    'window=252 target="constant_correlation" intensity=null measure="diversification_ratio"',
  TiltWeight: 'base="MarketCapWeight" field! strength=1 direction="high" tilts=[]',
  GroupWeight: 'field! between="equal" group_weights=null within="market_cap"',
  HierarchicalRiskParityWeight: 'window=252 linkage="single" distance="columns" risk_model=null',
  PluginWeight: 'plugin!',
};

describe('the catalogue', () => {
  test('it holds the classes of the contract in their order', () => {
    expect(classes.map(({ type }) => type)).toEqual(Object.keys(CONTRACT));
    expect(listRuleTypes().selection).toHaveLength(SELECTION_CLASSES.length);
    expect(listRuleTypes().weighting).toHaveLength(WEIGHTING_CLASSES.length);
  });

  test.each(specs.map((spec) => [spec.type, spec] as const))(
    '%s has the parameters of the contract',
    (type, { parameters }) => {
      const reportedNames = parameters
        .filter(({ name }) => name !== 'missing')
        .map(({ name, required, ...rest }) => (required ? `${name}!` : `${name}=${JSON.stringify(rest.default)}`));
      expect(reportedNames.join(' ')).toBe(CONTRACT[type]);
    },
  );

  test('rules that read data can keep securities without a value', () => {
    const without = specs.filter(
      ({ category, parameters }) => category === 'selection' && !parameters.some(({ name }) => name === 'missing'),
    );
    expect(without.map(({ type }) => type)).toEqual(['IncludeList', 'ExcludeList', 'MembershipFilter']);
  });

  test('a class is found by its type, and only by it', () => {
    expect(findSelectionClass('TopN')?.type).toBe('TopN');
    expect(findWeightingClass('EqualWeight')?.type).toBe('EqualWeight');
    expect(findSelectionClass('topn')).toBeUndefined();
    expect(findWeightingClass('TopN')).toBeUndefined();
  });
});

describe.each(classes.map((entry) => [entry.type, entry] as const))('%s', (_, entry) => {
  const spec = specs.find(({ type }) => type === entry.type)!;
  const example = entry.example as { type: string; params: Record<string, unknown> };

  test('its example is a complete valid row', () => {
    expect(example.type).toBe(entry.type);
    expect(checkParams(entry.params, example.params, { path: 'params', rowId: null }).findings).toEqual([]);
  });

  test('parameters are in form order, and a required one has no default', () => {
    expect(spec.parameters.map(({ order }) => order)).toEqual(spec.parameters.map((_, i) => i));
    for (const parameter of spec.parameters) expect('default' in parameter).toBe(!parameter.required);
  });

  test('every choice validates and any other value is refused with the accepted set', () => {
    for (const { name, choices } of spec.parameters) {
      if (choices === null) continue;
      for (const choice of choices) {
        // A choice may require another parameter. If this parameter is missing, the finding is about the choice.
        const { findings } = checkParams(
          entry.params,
          { ...example.params, [name]: choice },
          { path: 'params', rowId: null },
        );
        expect(findings.filter(({ path }) => path === `params.${name}`)).toEqual([]);
      }
      const { findings } = checkParams(
        entry.params,
        { ...example.params, [name]: 'neither' },
        { path: 'params', rowId: 'r' },
      );
      expect(findings).toContainEqual(
        expect.objectContaining({ code: 'NOT_IN_CHOICES', path: `params.${name}`, accepted: choices, row_id: 'r' }),
      );
    }
  });

  test('every default validates', () => {
    const defaults = Object.fromEntries(
      spec.parameters
        .filter((parameter) => 'default' in parameter)
        .map((parameter) => [parameter.name, parameter.default]),
    );
    const requiredParams = Object.fromEntries(
      spec.parameters.filter(({ required }) => required).map(({ name }) => [name, example.params[name]]),
    );
    const { findings } = checkParams(entry.params, { ...defaults, ...requiredParams }, { path: 'params', rowId: null });
    const chosenByCaller = ['CategoryFilter', 'CompositeScore']; // these classes require one of two optional parameters
    if (!chosenByCaller.includes(entry.type)) expect(findings).toEqual([]);
  });

  test('a missing, an unknown and an ill-typed parameter are each reported by name', () => {
    for (const { name, required, type } of spec.parameters) {
      if (required) {
        const { [name]: _, ...rest } = example.params;
        expect(checkParams(entry.params, rest, { path: 'params', rowId: null }).findings).toContainEqual(
          expect.objectContaining({ code: 'MISSING_PARAMETER', path: `params.${name}` }),
        );
      }
      if (type === 'number' || type === 'integer' || type === 'boolean') {
        expect(
          checkParams(entry.params, { ...example.params, [name]: 'text' }, { path: 'params', rowId: null }).findings,
        ).toContainEqual(expect.objectContaining({ code: 'WRONG_TYPE', path: `params.${name}` }));
      }
    }
    expect(
      checkParams(entry.params, { ...example.params, colour: 1 }, { path: 'params', rowId: null }).findings,
    ).toEqual([
      expect.objectContaining({
        severity: 'error',
        code: 'UNKNOWN_PARAMETER',
        path: 'params.colour',
        accepted: Object.keys(entry.params.shape),
      }),
    ]);
  });

  test('its sentence states every parameter of the example', () => {
    const bound = entry.bind(example.params);
    expect(bound.sentence).toMatch(/^[A-Z].*\.$/s);
    for (const value of Object.values(example.params)) {
      if (typeof value === 'number') expect(listNumbers(bound.sentence)).toContain(value);
    }
  });
});

/** Returns the numbers in a sentence. Thousands have separators, and shares are percentages. */
function listNumbers(sentence: string): number[] {
  return [...sentence.matchAll(/(\d[\d,]*(?:\.\d+)?)(%?)/g)].map(([, digits, percent]) =>
    Number(`${digits!.replaceAll(',', '')}e${percent === '%' ? -2 : 0}`),
  );
}
