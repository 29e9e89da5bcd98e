import type { BenchmarkStatement } from '#contract/governance.js';

export function formatStatement(statement: BenchmarkStatement): string {
  const { index_id: id, name, generated_at: date, version, purpose, calendar, inputs, review, publication } = statement;
  const { discretion, procedures } = statement;
  const sections: readonly (readonly [string, readonly string[]])[] = [
    ['Purpose', [purpose ?? 'To be completed: the description of the index states no purpose.']],
    ['Methodology', statement.methodology.map((sentence, k) => `${k + 1}. ${sentence}`)],
    [
      'Input data',
      [
        ...(inputs.indices.length === 0 ? [] : [`Based on: ${inputs.indices.join(', ')}.`, '']),
        ...inputs.hierarchy.map((sentence, k) => `${k + 1}. ${sentence}`),
      ],
    ],
    [
      'Discretion',
      [
        ...(discretion.approvals.length === 0
          ? ['No change needs the approval of a second person.']
          : discretion.approvals.map(({ action, persons }) => `- ${action}: ${persons} persons have to agree.`)),
        ...discretion.judgements.map(
          (judgement) => `- ${judgement.date}: ${judgement.author}, ${formatJudgement(judgement)}`,
        ),
        ...discretion.overrides.map(
          ({ date, author, identifier, price, source_price: source, reason, ...agreement }) =>
            `- ${date}: ${author}, price of ${identifier}: ${price} in place of ${source ?? 'none'}. ${reason}${formatAgreement(agreement)}`,
        ),
      ],
    ],
    ['Limitations', statement.limitations.map((sentence) => `- ${sentence}`)],
    ['Review', [formatReview(review)]],
    ['Changes of the methodology', listChangeLines(statement)],
    [
      'Published closes',
      publication === null
        ? ['None.']
        : [
            `${formatCount(publication.closes, 'close')} from ${publication.first} through ${publication.through}, on the sessions of ${calendar.code}; ${formatCount(publication.restatements, 'restatement')}.`,
            ...listOtherVersion(statement),
          ],
    ],
    // Each error has a notice, a complete sentence for clients.
    [
      'Errors',
      statement.errors.length === 0
        ? ['None.']
        : statement.errors.map(({ at: errorTime, notice }) => `- ${errorTime.slice(0, 10)}: ${notice}`),
    ],
    ...procedures.map(
      ({ name: title, version: number, text }) => [`Procedure: ${title} (version ${number})`, [text]] as const,
    ),
  ];
  const head = `# Benchmark statement: ${name} (${id})\n\nGenerated on ${date.slice(0, 10)} from version ${version ?? '–'} of the definition.\n`;
  return head + sections.map(([title, lines]) => `\n## ${title}\n\n${lines.join('\n')}\n`).join('');
}

const FREQUENCY_PHRASES: Readonly<Record<string, string>> = {
  semi_annual: 'semi-annually',
  annual: 'annually',
  custom: 'on chosen dates',
};

function formatReview({ frequency, upcoming }: BenchmarkStatement['review']): string {
  if (frequency === 'none') return 'Constituents are not reviewed.';
  const phrase = FREQUENCY_PHRASES[frequency] ?? frequency;
  return `Constituents are reviewed ${phrase}. Next effective dates: ${list(upcoming)}.`;
}

type Judgement = BenchmarkStatement['discretion']['judgements'][number];

function formatJudgement({
  action,
  check,
  index_id: index,
  identifier,
  findings,
  reason,
  ...agreement
}: Judgement): string {
  const reasonText = `${reason ?? 'No reason was given.'}${formatAgreement(agreement)}`;
  if (action !== 'waive') return `${action}. ${reasonText}`;
  const subject = [identifier, index ?? 'every index'].filter((name) => name !== null).join(' in ');
  const messages = findings.map(({ index_id: indexId, message }) => `${indexId}: ${message}`);
  return [`accepted ${check} of ${subject}.`, ...messages, reasonText].join(' ');
}

const formatAgreement = ({
  approval_id: id,
  approved_by: by,
}: Pick<Judgement, 'approval_id' | 'approved_by'>): string =>
  id === null ? '' : ` (approved by ${by.join(', ')}, approval ${id})`;

/** States that a later version of the definition is not published. */
function listOtherVersion({ version, latest_version: latest }: BenchmarkStatement): readonly string[] {
  if (version === latest) return [];
  return ['', `Version ${latest} of the definition is not published; this statement describes version ${version}.`];
}

function listChangeLines({ amendments, changes }: BenchmarkStatement): readonly string[] {
  return [
    ...amendments.map(({ effective_from: from, announced, reason }) =>
      `- Amendment effective from ${from}${announced === undefined ? '' : `, announced on ${announced}`}. ${reason ?? ''}`.trimEnd(),
    ),
    ...changes.flatMap(({ version, at, author, note, action, removed, added }) => [
      `- Version ${version}, ${at.slice(0, 10)}, ${author}: ${action}${note === null ? '' : ` (${note})`}.`,
      ...removed.map((sentence) => `  - No longer: ${sentence}`),
      ...added.map((sentence) => `  - Now: ${sentence}`),
    ]),
  ];
}

const formatCount = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

const list = (dates: readonly string[]): string => (dates.length === 0 ? 'none' : dates.join(', '));
