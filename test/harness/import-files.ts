import { personId } from './people.ts';

/** A v3 file in which every kind of row comes up again and again, and Sets depend on the order of rows. */
export function mixedFile(rows: number, people: number): string {
  const lines = ['user_id,attribute_key,value,action_type'];
  for (let row = 0; row < rows; row += 1) lines.push(mixedRow(row, personId(row % people)));
  return `${lines.join('\n')}\n`;
}

function mixedRow(row: number, person: string): string {
  const round = Math.floor(row / 7);
  switch (row % 7) {
    case 0: return `${person},plan,"plan ${round}, ""quoted""",`;
    case 1: return `${person},score,${round}.5,UPSERT`;
    case 2: return `${person},tags,t${round % 50};t${round % 7},ADD`;
    case 3: return `${person},tags,t${round % 7},REMOVE`;
    case 4: return row % 3 === 0 ? `${person},plan,,DEL` : `${person},born,2001-02-${String((round % 28) + 1).padStart(2, '0')},`;
    case 5: return row % 20 === 0 ? `${person},score,not a number,` : `${person},vip,${round % 2 === 0},`;
    default: return row % 30 === 0 ? `${person},unheard of,1,` : `${person},seen,2026-01-01T00:00:${String(round % 60).padStart(2, '0')}Z,`;
  }
}
