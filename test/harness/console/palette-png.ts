/** Pictures of pages with a palette of 256 colours: a third of the size that a browser writes. */
import { crc32, deflateSync, inflateSync } from 'node:zlib';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const MAX_COLOURS = 256;
const RGB = 2;
const RGBA = 6;
const PALETTE = 3;

type Pixels = { width: number; height: number; colours: Uint32Array };

/** Returns a PNG of a browser with the colours that come most often; others become the nearest of these. */
export function withPalette(png: Buffer): Buffer {
  const { width, height, colours } = pixelsOf(png);
  const counts = new Map<number, number>();
  for (const colour of colours) counts.set(colour, (counts.get(colour) ?? 0) + 1);
  const palette = [...counts]
    .toSorted(([one, often], [other, oftener]) => oftener - often || one - other)
    .slice(0, MAX_COLOURS)
    .map(([colour]) => colour);
  const indexes = new Map(palette.map((colour, index) => [colour, index]));
  const rows = Buffer.alloc((width + 1) * height); // each row begins with its filter, which is none
  for (const [at, colour] of colours.entries()) {
    const index = indexes.get(colour) ?? nearest(palette, colour);
    indexes.set(colour, index);
    rows[Math.floor(at / width) * (width + 1) + 1 + (at % width)] = index;
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, PALETTE], 8);
  const entries = Buffer.from(palette.flatMap(channelsOf));
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('PLTE', entries),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

const channelsOf = (colour: number): [number, number, number] => [
  (colour >> 16) & 0xff,
  (colour >> 8) & 0xff,
  colour & 0xff,
];

function nearest(palette: readonly number[], colour: number): number {
  const [red, green, blue] = channelsOf(colour);
  const distances = palette.map((each) => {
    const [r, g, b] = channelsOf(each);
    return (r - red) ** 2 + (g - green) ** 2 + (b - blue) ** 2;
  });
  return distances.indexOf(Math.min(...distances));
}

/** Reads the colours of a PNG with 8 bits a channel, not interlaced (PNG, 9.2: filters). */
function pixelsOf(png: Buffer): Pixels {
  const chunks = chunksOf(png);
  const header = chunks.find(({ type }) => type === 'IHDR')!.content;
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  const [depth, kind, , , interlaced] = header.subarray(8);
  if (depth !== 8 || interlaced !== 0 || (kind !== RGB && kind !== RGBA)) throw new Error('not a PNG of a browser');
  const step = kind === RGB ? 3 : 4;
  const filtered = inflateSync(
    Buffer.concat(chunks.filter(({ type }) => type === 'IDAT').map(({ content }) => content)),
  );
  const line = width * step;
  const bytes = Buffer.alloc(line * height);
  for (let row = 0; row < height; row += 1) {
    const filter = filtered[row * (line + 1)]!;
    for (let at = 0; at < line; at += 1) {
      const here = row * line + at;
      const left = at < step ? 0 : bytes[here - step]!;
      const up = row === 0 ? 0 : bytes[here - line]!;
      const corner = at < step || row === 0 ? 0 : bytes[here - line - step]!;
      bytes[here] = filtered[row * (line + 1) + 1 + at]! + predicted(filter, left, up, corner);
    }
  }
  const colours = Uint32Array.from({ length: width * height }, (_, at) => bytes.readUIntBE(at * step, 3));
  return { width, height, colours };
}

function predicted(filter: number, left: number, up: number, corner: number): number {
  if (filter === 0) return 0;
  if (filter === 1) return left;
  if (filter === 2) return up;
  if (filter === 3) return (left + up) >> 1;
  const [byLeft, byUp, byCorner] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)];
  if (byLeft <= byUp && byLeft <= byCorner) return left;
  return byUp <= byCorner ? up : corner;
}

function chunksOf(png: Buffer): { type: string; content: Buffer }[] {
  const chunks = [];
  for (let at = SIGNATURE.length; at < png.length;) {
    const size = png.readUInt32BE(at);
    chunks.push({ type: png.toString('latin1', at + 4, at + 8), content: png.subarray(at + 8, at + 8 + size) });
    at += 12 + size;
  }
  return chunks;
}

function chunk(type: string, content: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), content]);
  const [size, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  size.writeUInt32BE(content.length);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([size, named, sum]);
}
