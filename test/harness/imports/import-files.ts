import type { ImportErrorType } from '../../../domain/imports/import-error-type.ts';
import { personId } from '../core/people.ts';

const HEADER = 'user_id,attribute_key,value,action_type\n';

/**
 * A v3 file in which every kind of row comes up again and again for each person, and Sets depend on the order of rows.
 */
export function mixedFile(rows: number, people: number): string {
  const lines: string[] = [];
  // Each round begins with the next person: else one of 7 people, or of 700, would have rows of one kind only.
  for (let row = 0; row < rows; row += 1)
    lines.push(mixedRow(row, personId((row + Math.floor(row / people)) % people)));
  return `${HEADER}${lines.join('\n')}\n`;
}

function mixedRow(row: number, person: string): string {
  const round = Math.floor(row / 7);
  switch (row % 7) {
    case 0:
      return `${person},plan,"plan ${round}, ""quoted""",`;
    case 1:
      return `${person},score,${round}.5,UPSERT`;
    case 2:
      return `${person},tags,t${round % 50};t${round % 7},ADD`;
    case 3:
      return `${person},tags,t${round % 7},REMOVE`;
    case 4:
      return row % 3 === 0
        ? `${person},plan,,DEL`
        : `${person},born,2001-02-${String((round % 28) + 1).padStart(2, '0')},`;
    case 5:
      return row % 20 === 0 ? `${person},score,not a number,` : `${person},vip,${round % 2 === 0},`;
    default:
      return row % 30 === 0
        ? `${person},unheard of,1,`
        : `${person},seen,2026-01-01T00:00:${String(round % 60).padStart(2, '0')}Z,`;
  }
}

type BadRecord = { bytes: Buffer; errorType: ImportErrorType };

/** Each fails, whatever stands around it. The open quote of the seventh meets the stray one of the eighth. */
const BAD_RECORDS: BadRecord[] = [
  { bytes: Buffer.from(`${personId(0)},score,many,`), errorType: 'INVALID_VALUE' },
  { bytes: Buffer.from(',plan,gold,'), errorType: 'INVALID_CUSTOMER_ID' },
  { bytes: Buffer.from(`${personId(1)},,gold,`), errorType: 'EMPTY_KEY' },
  { bytes: Buffer.from(`${personId(2)},plan,gold,REPLACE`), errorType: 'INVALID_ACTION' },
  { bytes: Buffer.from(`${personId(3)},plan,g\xfcldig,`, 'latin1'), errorType: 'FILE_ENCODING' },
  { bytes: Buffer.from(`${personId(4)},plan,gold`), errorType: 'PARSING_FAILED' },
  { bytes: Buffer.from(`"${personId(5)},plan,gold,`), errorType: 'PARSING_FAILED' },
  { bytes: Buffer.from(`${personId(6)},plan,19" gold,`), errorType: 'PARSING_FAILED' },
  { bytes: Buffer.from(`${personId(7)},born,"2001-02-\n30",`), errorType: 'INVALID_VALUE' },
  { bytes: Buffer.from(`${personId(8)},plan,"go"ld,`), errorType: 'PARSING_FAILED' },
];

export type BadFile = {
  bytes: Buffer;
  /** After the header the same lines come again every so many. */
  linesPerRound: number;
  /** The errors of each round: `at` is the line within the round, from 0. */
  round: { at: number; errorType: ImportErrorType; raw: string }[];
};

/** A v3 file of bad records only, ten to a round. */
export function badFile(rounds: number): BadFile {
  const block = Buffer.concat(BAD_RECORDS.flatMap(({ bytes }) => [bytes, Buffer.from('\n')]));
  let lines = 0;
  const round = BAD_RECORDS.map(({ bytes, errorType }) => {
    const at = lines;
    const raw = bytes.toString();
    lines += raw.split('\n').length;
    return { at, errorType, raw };
  });
  return {
    bytes: Buffer.concat([Buffer.from(HEADER), Buffer.alloc(rounds * block.length, block)]),
    linesPerRound: lines,
    round,
  };
}
