import type { ChangedOverrides, PriceOverrideRequest, PriceOverrides } from '#contract/stores.js';
import { compareText, type Finding } from '#domain/base/findings.js';
import { Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { type DatasetDocument, isManaged, OVERRIDES_MAX, type PriceOverride } from '#domain/definition/datasets.js';
import { type Authorship, NOTE_LENGTH_MAX } from '#domain/definition/versions.js';
import type { JobOrigin } from '#jobs/port/queue.js';
import { findCell, type PriceLocation } from '#market/content/market-content.js';
import { type DocumentTransaction, formatTimestamp } from '#store/port.js';
import type { ApprovalAgreement, ProposedChange } from '../shared/approvals.js';
import type { Context } from '../shared/context.js';
import { requireDataset } from '../shared/store-documents.js';
import type { DatasetSubmissions } from './jobs.js';

/** Author of an override, on whose behalf the refresh runs. */
export interface OverrideAuthor {
  readonly by: Authorship;
  readonly origin: JobOrigin | null;
}

/** Prices that people enter in place of the prices of a source. */
export interface PriceOverriding {
  /** Lists the overrides of a store. @throws Refusal STORE_NOT_FOUND, DOCUMENT_UNREADABLE */
  list(storeId: string): Promise<PriceOverrides>;
  /** Overrides a price, or withdraws an override. @throws Refusal STORE_NOT_FOUND, DOCUMENT_UNREADABLE, VALIDATION_FAILED, APPROVAL_REQUIRED */
  override(storeId: string, request: PriceOverrideRequest, author: OverrideAuthor): Promise<ChangedOverrides>;
}

export function createPriceOverriding(
  { documents, stores, approvals, now }: Context,
  datasets: Pick<DatasetSubmissions, 'refresh'>,
): PriceOverriding {
  /**
   * Returns the present close of a store; null if it has none.
   * @throws Refusal VALIDATION_FAILED for an unknown security or session
   */
  async function closeAt(storeId: string, location: PriceLocation): Promise<number | null> {
    const { market } = await stores.of(storeId);
    const cell = findCell(market, location);
    if (cell === undefined) {
      const isKnown = market.identifiers.includes(location.identifier);
      const missingSubject = isKnown ? `no session ${location.date}` : `no security ${location.identifier}`;
      throw refuseOverride(isKnown ? 'date' : 'identifier', `The data store ${storeId} has ${missingSubject}.`);
    }
    const close = market.fields.get('CLOSE')![cell]!;
    return Number.isNaN(close) ? null : close;
  }

  async function write(
    tx: DocumentTransaction,
    storeId: string,
    {
      request,
      close,
      by,
      agreement,
    }: {
      readonly request: PriceOverrideRequest;
      readonly close: number | null;
      readonly by: Authorship;
      readonly agreement: ApprovalAgreement;
    },
  ): Promise<void> {
    const { document } = await requireDataset(tx, storeId);
    const { identifier, date, price, reason } = request;
    const previousOverride = findOverride(document, request);
    assertOverridden(document, request);
    const timestamp = formatTimestamp(now());
    const { author, keyId = null } = by;
    const override = {
      identifier,
      date,
      source_price: previousOverride ? previousOverride.source_price : close,
      reason,
      author,
      key_id: keyId,
      at: timestamp,
      ...agreement,
    };
    const otherOverrides = (document.price_overrides ?? []).filter(
      (storedOverride) => storedOverride !== previousOverride,
    );
    const overrides = price === null ? otherOverrides : [...otherOverrides, { ...override, price }];
    if (overrides.length > OVERRIDES_MAX)
      throw refuseOverride('price', `A data store has at most ${OVERRIDES_MAX} overrides.`);
    await tx.put('store', storeId, {
      ...document,
      price_overrides: overrides.toSorted(
        (a, b) => compareText(a.date, b.date) || compareText(a.identifier, b.identifier),
      ),
      changed_prices: [...(document.changed_prices ?? []), { identifier, date, at: timestamp }],
    });
  }

  /**
   * Starts the refresh that applies a change. Returns the id of its job; null if it was refused. A refresh that is
   * already running does not count, because it may have read the store before the change.
   */
  async function apply(storeId: string, origin: JobOrigin | null): Promise<string | null> {
    const request = { until: null, full: false, dry_run: false, load: true, fail_on: [] };
    try {
      return (await datasets.refresh(storeId, request, origin)).job_id;
    } catch (failure) {
      if (failure instanceof Refusal) return null;
      throw failure;
    }
  }

  async function list(storeId: string): Promise<PriceOverrides> {
    const { document } = await requireDataset(documents, storeId);
    return { store_id: storeId, overrides: document.price_overrides ?? [] };
  }

  return {
    list,
    async override(storeId, request, { by, origin }) {
      const { document } = await requireDataset(documents, storeId);
      if (isManaged(document.kind))
        throw refuseOverride(
          'price',
          `The data store ${storeId} has no source: its prices are corrected by an import.`,
        );
      const close = await closeAt(storeId, request);
      assertOverridden(document, request);
      const noteAuthorship = { ...by, note: request.reason };
      const proposedChange = createRequestedOverride(storeId, request, findOverride(document, request)?.price ?? close);
      await approvals.guarded(noteAuthorship, ({ admit }) =>
        documents.transaction(
          async (tx) => {
            const agreement = await admit(tx, proposedChange);
            await write(tx, storeId, { request, close, by, agreement });
          },
          { by: noteAuthorship },
        ),
      );
      // The refresh creates a data version, which stores the reason.
      const notedOrigin = origin && {
        ...origin,
        note: `${proposedChange.summary} ${request.reason}`.slice(0, NOTE_LENGTH_MAX),
      };
      return { ...(await list(storeId)), job_id: await apply(storeId, notedOrigin) };
    },
  };
}

const findOverride = (
  { price_overrides: overrides }: DatasetDocument,
  location: PriceLocation,
): PriceOverride | undefined =>
  overrides?.find(({ identifier, date }) => identifier === location.identifier && date === location.date);

/**
 * Checks that a price has an override before the override is withdrawn. @throws Refusal VALIDATION_FAILED for a
 * withdrawal without an override
 */
function assertOverridden(document: DatasetDocument, request: PriceOverrideRequest): void {
  if (request.price !== null || findOverride(document, request) !== undefined) return;
  throw refuseOverride('price', `${request.identifier} has no override on ${request.date} that could be withdrawn.`);
}

function createRequestedOverride(
  storeId: string,
  request: PriceOverrideRequest,
  previousPrice: number | null,
): ProposedChange {
  const { identifier, date, price, reason } = request;
  const actionText = price === null ? 'Withdraw the override of' : `Override by ${price}`;
  return {
    action: 'override',
    subject: storeId,
    content: request,
    summary: `${actionText} the price of ${identifier} on ${date} in ${storeId}.`,
    facts: {
      kind: 'override',
      store_id: storeId,
      identifier,
      date,
      before: previousPrice,
      price,
      change: previousPrice === null || price === null ? null : price / previousPrice - 1,
      reason,
    },
  };
}

function refuseOverride(path: string, message: string): Refusal {
  const finding: Finding = { severity: 'error', code: 'NOT_IN_CHOICES', path, message };
  return refuseWithFindings('request', [finding]);
}
