/** A compound file ([MS-CFB], version 3): header, one stream, directory, FAT, and DIFAT beyond the header's 109. */

const SECTOR = 512;
/** Minimum size of a stream; smaller ones need a different layout. */
const MIN_STREAM = 4096;
const MAX_FILE = 0x7fffffff;

const IN_SECTOR = SECTOR / 4;
const IN_HEADER = 109;

const FREE = 0xffffffff;
const END_OF_CHAIN = 0xfffffffe;
const FAT_SECTOR = 0xfffffffd;
const DIFAT_SECTOR = 0xfffffffc;
const NO_ENTRY = 0xffffffff;

/** Class id that marks the file as Excel's. */
const EXCEL_WORKBOOK = '2008020000000000c000000000000046';

type Layout = { streamSectors: number; fatSectors: number; difatSectors: number };

function layoutOf(streamSize: number): Layout {
  const streamSectors = Math.ceil(Math.max(streamSize, MIN_STREAM) / SECTOR);
  let [fatSectors, difatSectors] = [0, 0];
  for (;;) {
    const fat = Math.ceil((streamSectors + 1 + fatSectors + difatSectors) / IN_SECTOR);
    const difat = Math.max(0, Math.ceil((fat - IN_HEADER) / (IN_SECTOR - 1)));
    if (fat === fatSectors && difat === difatSectors) return { streamSectors, fatSectors, difatSectors };
    [fatSectors, difatSectors] = [fat, difat];
  }
}

/** Returns the size of a file with a stream of this size; null if the format cannot hold it. */
export function compoundFileSize(streamSize: number): number | null {
  const { streamSectors, fatSectors, difatSectors } = layoutOf(streamSize);
  const size = SECTOR * (1 + streamSectors + 1 + fatSectors + difatSectors);
  return size > MAX_FILE ? null : size;
}

export function compoundFileHead(streamSize: number): Buffer {
  const { streamSectors, fatSectors, difatSectors } = layoutOf(streamSize);
  const firstFat = streamSectors + 1;
  const head = Buffer.alloc(SECTOR, 0xff);
  head.fill(0, 0, 76);
  head.write('d0cf11e0a1b11ae1', 0, 'hex');
  head.writeUInt16LE(0x3e, 24);
  head.writeUInt16LE(3, 26);
  head.writeUInt16LE(0xfffe, 28);
  head.writeUInt16LE(9, 30);
  head.writeUInt16LE(6, 32);
  head.writeUInt32LE(fatSectors, 44);
  head.writeUInt32LE(streamSectors, 48);
  head.writeUInt32LE(MIN_STREAM, 56);
  head.writeUInt32LE(END_OF_CHAIN, 60);
  head.writeUInt32LE(difatSectors > 0 ? firstFat + fatSectors : END_OF_CHAIN, 68);
  head.writeUInt32LE(difatSectors, 72);
  for (let at = 0; at < Math.min(fatSectors, IN_HEADER); at += 1) head.writeUInt32LE(firstFat + at, 76 + 4 * at);
  return head;
}

export function* compoundFileTail(name: string, streamSize: number): Generator<Buffer> {
  const layout = layoutOf(streamSize);
  const storedSize = Math.max(streamSize, MIN_STREAM);
  yield Buffer.alloc(layout.streamSectors * SECTOR - streamSize);
  yield Buffer.concat([
    directoryEntry('Root Entry', { type: 5, child: 1, start: END_OF_CHAIN, size: 0, classId: EXCEL_WORKBOOK }),
    directoryEntry(name, { type: 2, child: NO_ENTRY, start: 0, size: storedSize }),
    directoryEntry('', { type: 0, child: NO_ENTRY, start: 0, size: 0 }),
    directoryEntry('', { type: 0, child: NO_ENTRY, start: 0, size: 0 }),
  ]);
  yield* numbers(layout.fatSectors * IN_SECTOR, (sector) => fatEntry(sector, layout));
  yield* numbers(layout.difatSectors * IN_SECTOR, (at) => difatEntry(at, layout));
}

function directoryEntry(
  name: string,
  {
    type,
    child,
    start,
    size,
    classId = '',
  }: { type: number; child: number; start: number; size: number; classId?: string },
): Buffer {
  const entry = Buffer.alloc(128);
  entry.write(name, 0, 'utf16le');
  entry.writeUInt16LE(name === '' ? 0 : 2 * name.length + 2, 64);
  entry[66] = type;
  entry[67] = type === 0 ? 0 : 1;
  for (const at of [68, 72]) entry.writeUInt32LE(NO_ENTRY, at);
  entry.writeUInt32LE(child, 76);
  entry.write(classId, 80, 'hex');
  entry.writeUInt32LE(start, 116);
  entry.writeUInt32LE(size, 120);
  return entry;
}

/** Returns the sector that follows this one, or its purpose. */
function fatEntry(sector: number, { streamSectors, fatSectors, difatSectors }: Layout): number {
  if (sector < streamSectors - 1) return sector + 1;
  if (sector <= streamSectors) return END_OF_CHAIN;
  if (sector <= streamSectors + fatSectors) return FAT_SECTOR;
  return sector <= streamSectors + fatSectors + difatSectors ? DIFAT_SECTOR : FREE;
}

/** Returns an entry of a DIFAT sector: 127 FAT sectors, then the next DIFAT sector. */
function difatEntry(at: number, { streamSectors, fatSectors, difatSectors }: Layout): number {
  const firstFat = streamSectors + 1;
  const sector = Math.floor(at / IN_SECTOR);
  if (at % IN_SECTOR === IN_SECTOR - 1)
    return sector + 1 < difatSectors ? firstFat + fatSectors + sector + 1 : END_OF_CHAIN;
  const fat = IN_HEADER + sector * (IN_SECTOR - 1) + (at % IN_SECTOR);
  return fat < fatSectors ? firstFat + fat : FREE;
}

const NUMBERS_A_PIECE = 16 * 1024;

function* numbers(count: number, valueAt: (at: number) => number): Generator<Buffer> {
  for (let from = 0; from < count; from += NUMBERS_A_PIECE) {
    const piece = Buffer.alloc(4 * Math.min(NUMBERS_A_PIECE, count - from));
    for (let at = 0; at < piece.length; at += 4) piece.writeUInt32LE(valueAt(from + at / 4), at);
    yield piece;
  }
}
