import { writeWorkbook, writeZip } from '#market/read/import.js';
import { type Damage, importBytes, MARKET } from './damage.js';

const HEADER = ['identifier', 'date', 'CLOSE'];
const CELLS =
  '<row r="1"><c r="A1" t="inlineStr"><is><t>identifier</t></is></c><c r="B1" t="inlineStr"><is><t>date</t></is></c><c r="C1" t="inlineStr"><is><t>CLOSE</t></is></c></row>';
const formatTextCell = (cell: string, text: string) => `<c r="${cell}" t="inlineStr"><is><t>${text}</t></is></c>`;

function createWorkbookParts({
  sheet,
  name = 'market',
  sheets,
  relations,
  texts = '',
}: {
  sheet: string;
  name?: string;
  sheets?: string;
  relations?: string;
  texts?: string;
}) {
  const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
  return [
    {
      name: 'xl/workbook.xml',
      text: `<workbook xmlns="${main}" xmlns:r="r"><sheets>${sheets ?? `<sheet name="${name}" sheetId="1" r:id="rId1"/>`}</sheets></workbook>`,
    },
    {
      name: 'xl/_rels/workbook.xml.rels',
      text: relations ?? '<Relationships><Relationship Id="rId1" Target="worksheets/sheet1.xml"/></Relationships>',
    },
    { name: 'xl/sharedStrings.xml', text: `<sst>${texts}</sst>` },
    { name: 'xl/worksheets/sheet1.xml', text: sheet },
  ];
}
const formatSheet = (rows: string) => `<worksheet><sheetData>${CELLS}${rows}</sheetData></worksheet>`;
const createWorkbook = (sheet: string, more: Partial<Parameters<typeof createWorkbookParts>[0]> = {}) =>
  importBytes('xlsx', writeZip(createWorkbookParts({ sheet, ...more })));
const importSheetRows = (...rows: Parameters<typeof writeWorkbook>[0][number]['rows']) =>
  importBytes('xlsx', writeWorkbook([{ name: 'market', rows: [HEADER, ...rows] }]));

export const WORKBOOK: readonly Damage[] = [
  ['nothing in it', ['UNREADABLE_FILE '], importBytes('xlsx', new Uint8Array(0))],
  ['text, called a workbook', ['UNREADABLE_FILE '], importBytes('xlsx', Buffer.from(MARKET))],
  [
    'a workbook under a password, or of before 2007',
    ['UNREADABLE_FILE '],
    importBytes('xlsx', Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(4000)])),
  ],
  ['a zip of something else', ['UNREADABLE_FILE '], importBytes('xlsx', writeZip([{ name: 'readme.txt', text: 'x' }]))],
  [
    'half of it',
    ['UNREADABLE_FILE '],
    importBytes('xlsx', writeWorkbook([{ name: 'market', rows: [HEADER] }]).subarray(0, 500)),
  ],
  [
    'a cell in column XFD',
    ['UNREADABLE_FILE market'],
    createWorkbook(formatSheet('<row r="2"><c r="XFD2"><v>1</v></c></row>')),
  ],
  [
    'a cell in row 99,999,999',
    ['UNREADABLE_FILE market'],
    createWorkbook(formatSheet('<row r="99999999"><c r="A99999999"><v>1</v></c></row>')),
  ],
  [
    'a formula',
    ['WRONG_TYPE market[row 1].CLOSE'],
    createWorkbook(
      formatSheet(
        `<row r="2">${formatTextCell('A2', 'A')}${formatTextCell('B2', '2024-01-02')}<c r="C2"><f>1+1</f><v>2</v></c></row>`,
      ),
    ),
  ],
  [
    'entities that grow',
    ['UNREADABLE_FILE '],
    createWorkbook(`<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]>${formatSheet('')}`),
  ],
  [
    'an entity of a file of ours',
    ['UNREADABLE_FILE '],
    createWorkbook(
      `<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>${formatSheet(`<row r="2">${formatTextCell('A2', '&e;')}</row>`)}`,
    ),
  ],
  [
    'an entity that nobody knows',
    ['UNREADABLE_FILE '],
    createWorkbook(formatSheet(`<row r="2">${formatTextCell('A2', '&bomb;')}</row>`)),
  ],
  [
    'a tag that does not end',
    ['UNREADABLE_FILE '],
    createWorkbook(`<worksheet><sheetData>${CELLS}<row r="2"><c r="A2"`),
  ],
  [
    'a text that is not there',
    ['UNREADABLE_FILE market'],
    createWorkbook(formatSheet('<row r="2"><c r="A2" t="s"><v>77</v></c></row>')),
  ],
  [
    'a sheet that is named and not there',
    ['UNREADABLE_FILE market'],
    createWorkbook(formatSheet(''), {
      relations: '<Relationships><Relationship Id="rId1" Target="worksheets/sheet9.xml"/></Relationships>',
    }),
  ],
  [
    'a sheet that nobody asked for',
    ['EMPTY_DATASET market', 'UNKNOWN_FIELD prices'],
    createWorkbook(formatSheet(''), { name: 'prices' }),
  ],
  [
    'the same sheet twice',
    ['UNKNOWN_FIELD Market'],
    createWorkbook(
      formatSheet(
        `<row r="2">${formatTextCell('A2', 'A')}${formatTextCell('B2', '2024-01-02')}<c r="C2"><v>1</v></c></row>`,
      ),
      {
        sheets: '<sheet name="market" sheetId="1" r:id="rId1"/><sheet name="Market" sheetId="2" r:id="rId1"/>',
      },
    ),
  ],
  ['a sheet that inflates to 60 MB', ['UNREADABLE_FILE '], createWorkbook(formatSheet(' '.repeat(60 << 20)))],
  [
    'an error of the spreadsheet',
    ['NOT_A_NUMBER market[row 1].CLOSE'],
    importSheetRows(['A', '2024-01-02', '#DIV/0!']),
  ],
  ['a number for a date', ['BAD_DATE market[row 1].date'], importSheetRows(['A', 45_293, 1])],
  ['no identifier', ['BAD_IDENTIFIER market[row 1].identifier'], importSheetRows([null, '2024-01-02', 1])],
  ['a value beyond the header', ['UNREADABLE_FILE market[row 1]'], importSheetRows(['A', '2024-01-02', 1, 5])],
];
