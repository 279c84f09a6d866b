import { oneLine, MAX_NAME, thousands } from '../text/mail-text.ts';
import { FILE_DAYS } from './file-format.ts';

export type FileReport = {
  identifier: string;
  kind: string;
  format: string;
  rows: number;
  isReady: boolean;
  link: string;
};

export function fileMail({ identifier, kind, format, rows, isReady, link }: FileReport): {
  subject: string;
  text: string;
} {
  const name = `${oneLine(kind, MAX_NAME)}.${oneLine(format, MAX_NAME)}`;
  const text = (line: string) => `The file ${oneLine(identifier, MAX_NAME)} ${line}\n\n${link}\n`;
  if (!isReady) return { subject: `${name} could not be built`, text: text('could not be built. The link says why:') };
  return {
    subject: `${name} is ready: ${thousands(rows)} rows`,
    text: text(
      `is ready, with ${thousands(rows)} rows. Everybody who has the link can fetch it for ${FILE_DAYS} days:`,
    ),
  };
}
