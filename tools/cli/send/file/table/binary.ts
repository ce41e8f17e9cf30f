type Mark = readonly [at: number, bytes: string]

/** Kinds of files that are not tables, by their first bytes. */
const KINDS: readonly (readonly [what: string, ...marks: Mark[]])[] = [
  ['an image (PNG)', [0, '\x89PNG']],
  ['an image (JPEG)', [0, '\xff\xd8\xff']],
  ['an image (GIF)', [0, 'GIF8']],
  ['an image (WebP)', [0, 'RIFF'], [8, 'WEBP']],
  ['an image (BMP)', [0, 'BM'], [6, '\0\0\0\0']],
  ['an image (TIFF)', [0, 'II*\0']],
  ['an image (TIFF)', [0, 'MM\0*']],
  ['an image (HEIC)', [4, 'ftyphei']],
  ['an image (HEIC)', [4, 'ftypmif1']],
  ['an image (AVIF)', [4, 'ftypavif']],
  ['a video', [4, 'ftyp']],
  ['a PDF', [0, '%PDF']],
  ['a program', [0, '\x7fELF']],
  ['a program', [0, 'MZ'], [3, '\0']],
  ['a program', [0, '\xcf\xfa\xed\xfe']],
  ['a program', [0, '\xca\xfe\xba\xbe']],
  ['a database (SQLite)', [0, 'SQLite format 3\0']],
  ['a ZIP archive', [0, 'PK\x03\x04']],
  ['an empty ZIP archive', [0, 'PK\x05\x06']],
  ['an archive (gzip)', [0, '\x1f\x8b']],
  ['an archive (bzip2)', [0, 'BZh'], [4, '1AY']],
  ['an archive (xz)', [0, '\xfd7zXZ\0']],
  ['an archive (zstd)', [0, '\x28\xb5\x2f\xfd']],
  ['an archive (7z)', [0, '7z\xbc\xaf']],
  ['an archive (RAR)', [0, 'Rar!\x1a']],
  ['an archive (tar)', [257, 'ustar']],
]

const START_BYTES = 512

/** The kind of a file that is not text, such as `an image (PNG)`; undefined for text and for unknown bytes. */
export function binaryKindOf(bytes: Uint8Array): string | undefined {
  const start = Buffer.from(bytes.subarray(0, START_BYTES)).toString('latin1')
  return KINDS.find(([, ...marks]) => marks.every(([at, mark]) => start.startsWith(mark, at)))?.[0]
}

export const SAVE = 'save the table as .csv or .xlsx, and give that file'
