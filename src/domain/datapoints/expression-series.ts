import type { ReferenceValue } from '../market/market-data.js';
import { combineInto, createEvaluator, type ValueSource } from './expressions/compute.js';
import { findFunction } from './expressions/functions/catalogue.js';
import { toFieldRequest, type ArithmeticNode, type ExpressionNode, type Operator } from './expressions/tree.js';
import type { FieldRequest } from './field-request.js';
import { createConstantSeries, multiplySeries, type Series } from './series.js';

export interface SeriesSource {
  /** Returns the expression of a datapoint. Returns null for a datapoint that is read directly from the market. */
  expanded(field: FieldRequest): ExpressionNode | null;
  /** Returns the values of a numeric datapoint as stated on each session. */
  trailing(field: FieldRequest): Series;
  /** Returns the values of a text column known on a session. */
  texts(field: FieldRequest, session: number, columns: Int32Array): readonly ReferenceValue[];
  isNumber(field: FieldRequest): boolean;
}

/**
 * Returns a function that creates the series of an expression. It creates each series only once, because windows are
 * cached by series.
 */
export function createExpressionSeries(source: SeriesSource): (node: ExpressionNode) => Series {
  const seriesByNode = new Map<ExpressionNode, Series>();
  const findSeries = (node: ExpressionNode): Series => {
    const result = seriesByNode.get(node) ?? createSeries(node);
    seriesByNode.set(node, result);
    return result;
  };

  function createSeries(node: ExpressionNode): Series {
    switch (node.node) {
      case 'field':
        return createFieldSeries(toFieldRequest(node));
      case 'value':
        return createConstantSeries(typeof node.value === 'number' ? node.value : NaN);
      case 'arithmetic':
        return createArithmeticSeries(node, findSeries);
      case 'function': {
        const [only] = node.operands;
        if (findFunction(node)?.form === 'elementwise') return computeValue(node);
        if (node.name === 'last' && node.window === undefined) return lagSeries(findSeries(only!), node.lag ?? 0);
        throw new Error(`${node.name} has no series: trees are checked before they are evaluated`);
      }
      case 'all':
      case 'any':
      case 'not':
      case 'comparison':
        throw new Error('a condition has no series: trees are checked before they are evaluated');
    }
  }

  function createFieldSeries(field: FieldRequest): Series {
    const definition = source.expanded(field);
    return definition === null ? lagSeries(source.trailing({ ...field, lag: 0 }), field.lag) : findSeries(definition);
  }

  /** Computes a function of the values of each session. */
  function computeValue(node: ExpressionNode): Series {
    return {
      fill(session, columns, out) {
        const values = (field: FieldRequest): readonly ReferenceValue[] =>
          source.texts(field, session - field.lag, columns);
        const valueSource: ValueSource = {
          count: columns.length,
          numbers(field) {
            const read = new Float64Array(columns.length);
            createFieldSeries(field).fill(session, columns, read);
            return read;
          },
          values,
          isNumber: source.isNumber,
          call() {
            throw new Error('a window reads only columns and arithmetic: trees are checked before they are evaluated');
          },
        };
        out.set(createEvaluator(valueSource).numbers(node));
      },
    };
  }
  return findSeries;
}

function createArithmeticSeries(
  { operator, operands }: ArithmeticNode,
  seriesOf: (node: ExpressionNode) => Series,
): Series {
  const [first, ...otherSeries] = operands.map(seriesOf);
  if (otherSeries.length === 0) return operator === '-' ? multiplySeries(first!, createConstantSeries(-1)) : first!;
  return otherSeries.reduce(
    (leftSeries, right) =>
      operator === '*' ? multiplySeries(leftSeries, right) : combineSeries(operator, leftSeries, right),
    first!,
  );
}

function combineSeries(operator: Operator, leftSeries: Series, right: Series): Series {
  let scratch = new Float64Array(0);
  return {
    fill(session, columns, out) {
      if (scratch.length < columns.length) scratch = new Float64Array(columns.length);
      const rightValues = scratch.subarray(0, columns.length);
      leftSeries.fill(session, columns, out);
      right.fill(session, columns, rightValues);
      combineInto(out, { operator, left: out, right: rightValues });
    },
  };
}

/** Returns a series that lags by some sessions. Its values are missing before the first value of the original. */
function lagSeries(series: Series, lag: number): Series {
  if (lag === 0) return series;
  return {
    fill(session, columns, out) {
      if (session < lag) out.fill(NaN);
      else series.fill(session - lag, columns, out);
    },
  };
}
