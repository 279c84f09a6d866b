import { replaceBetween } from '../../domain/text/replace-between.ts';
import { personalData } from '../../store/gdpr/personal-data-registry.ts';

const [START, END] = ['<!-- locations: made from the registry by `npm run docs` -->', '<!-- end of locations -->'];

export function withLocations(page: string): string {
  return replaceBetween(page, [START, END], table());
}

function table(): string {
  const rows = personalData.map(
    ({ name, holds, foundBy, erasedBy, keptFor }) =>
      `| ${name.endsWith('/') ? 'files ' : ''}\`${name}\` | ${holds} | ${foundBy} | ${erasedBy} | ${keptFor} |`,
  );
  return ['| location | what it may hold | found by | erased by | kept |', '|---|---|---|---|---|', ...rows].join('\n');
}
