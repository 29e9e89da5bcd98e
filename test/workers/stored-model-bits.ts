import { createHash } from 'node:crypto';
import { RiskModelRequest } from '#domain/risk/risk-models.js';
import { shareMarket } from '#domain/market/market-data.js';
import { estimateModel } from '#workers/risk/risk-models.js';
import { createMarket, createNames } from './bits-market.js';
import { writeOutputs } from './task-outputs.js';

const NAMES = 60;

/** Returns the SHA-256 of models in the form in which a worker stores them. */
export async function hashStoredModel(): Promise<Record<string, string>> {
  const handle = shareMarket(createMarket(NAMES, 200));
  const identifiers = createNames(NAMES);
  const requests = {
    shape: {},
    'ledoit-wolf': { intensity_method: 'ledoit_wolf' },
    'half-life, scaled identity': { half_life: 40, target: 'scaled_identity' },
  } as const;
  const bits: Record<string, string> = {};
  const writtenOutputs = await writeOutputs();
  for (const [name, settings] of Object.entries(requests)) {
    const input = {
      market: handle,
      universe: { kind: 'names', identifiers },
      request: RiskModelRequest.parse({ identifiers, ...settings }),
      outputs: writtenOutputs.outputs('covariance', 'factors'),
    } as const;
    const { covariance, diagnostics } = await estimateModel(input, { report: () => {} });
    bits[`stored model, ${name}`] = createHash('sha256')
      .update(writtenOutputs.read(covariance))
      .update(JSON.stringify(diagnostics))
      .digest('hex');
  }
  await writtenOutputs.remove();
  return bits;
}
