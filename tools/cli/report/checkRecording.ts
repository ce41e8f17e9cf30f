import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import { binaryKindOf } from '../send/file/table/binary.js'
import { isSheet } from '../send/file/table/sheet.js'
import { JOURNAL_ENDING, RESULTS_ENDING } from '../send/pay/journal.js'
import { Refusal } from '../shared/program.js'

const GIVE = `Give a file that txlane send paid, its journal (FILE${JOURNAL_ENDING}) or its results (FILE${RESULTS_ENDING}); or a recording, which recordTo of txlane/recorder writes.`

/** @throws Refusal that says what the file is, if it cannot be a recording */
export function checkRecording(path: string): void {
  const start = startOf(path)
  const text = start.toString('utf8').trimStart()
  // A recording may be cut off after any of its bytes.
  if (RECORDED.startsWith(text.slice(0, RECORDED.length))) return
  throw new Refusal(`${basename(path)} ${whatIs(start, text)}. ${GIVE}`)
}

/** The first bytes of a recording. */
const RECORDED = '{"at":'

function whatIs(start: Buffer, text: string): string {
  if (/^<(?:!doctype|html)/i.test(text)) return 'is a web page, and no recording: is it a report already?'
  const binary = isSheet(start) ? undefined : binaryKindOf(start)
  return `is ${binary === undefined ? '' : `${binary}, `}no recording, and no file that was paid: there is no journal beside it`
}

const START_BYTES = 4_096

function startOf(path: string): Buffer {
  const file = opened(path)
  try {
    const start = Buffer.alloc(START_BYTES)
    return start.subarray(0, readSync(file, start))
  } finally {
    closeSync(file)
  }
}

function opened(path: string): number {
  try {
    if (statSync(path).isDirectory()) throw new Refusal(`${path} is a folder. ${GIVE}`)
    return openSync(path, 'r')
  } catch (error) {
    if (error instanceof Refusal) throw error
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    throw new Refusal(`${isMissing ? `There is no file ${path}.` : `${path} cannot be read.`} ${GIVE}`)
  }
}
