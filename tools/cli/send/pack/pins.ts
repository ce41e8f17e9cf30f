import { existsSync } from 'node:fs'
import { type FileHandle, open, readFile, truncate } from 'node:fs/promises'
import { type Address, isAddress, keccak256, stringToHex } from 'viem'
import { Refusal } from '../../shared/program.js'
import type { Money, Row } from '../file/rows.js'

/** A pack: the rows of one transaction, written before the transaction is made. */
export type Pin = {
  /** The id of its transaction. Each pin has its own, so a pack is sent at most once. */
  readonly pack: string
  readonly disperse: Address
  readonly token?: Address | undefined
  /** The ids of the rows, in the order of the call. */
  readonly rows: readonly string[]
}

/** An approval for the exact sum of some packs, or with an amount of 0 its end. */
export type ApprovalPin = {
  readonly approval: string
  readonly token: Address
  readonly spender: Address
  readonly amount: string
}

/** The contract can draw nothing of this token any more. */
type ReleasedPin = { readonly released: Address; readonly spender: Address }

/** The packs and approvals of a file, in the order in which they were made. */
export type Pins = {
  readonly packs: readonly Pin[]
  readonly approvals: readonly ApprovalPin[]
  /** The approvals that were not taken back, by token and spender. */
  readonly open: readonly Pick<ApprovalPin, 'token' | 'spender'>[]
}

/** The file of the pins, open for writing. Each entry is on the disk before the call returns. */
export type PinFile = {
  readonly pins: Pins
  pack(disperse: Address, money: Money, rows: readonly Row[]): Promise<Pin>
  approval(token: Address, spender: Address, amount: bigint): Promise<ApprovalPin>
  released(token: Address, spender: Address): Promise<void>
  close(): Promise<void>
}

type Entry = { readonly version: 1 } | Pin | ApprovalPin | ReleasedPin

/** Reads the pins of earlier runs; undefined without a file. @throws Refusal if the file is damaged */
export async function readPins(path: string): Promise<Pins | undefined> {
  return existsSync(path) ? pinsOf((await entriesIn(path)).entries) : undefined
}

/** Opens the file, and creates it if there is none. */
export async function openPins(path: string): Promise<PinFile> {
  const { entries, bytes } = existsSync(path) ? await entriesIn(path) : { entries: [], bytes: 0 }
  const file = await open(path, 'a', 0o600)
  // A line that a crash cut off was never followed by its transaction.
  await truncate(path, bytes)
  if (entries.length === 0) await append(file, { version: 1 })
  const pins = pinsOf(entries)
  let count = entries.length
  const write = async <entry extends Entry>(entry: entry): Promise<entry> => {
    count++
    await append(file, entry)
    return entry
  }
  return {
    pins,
    pack(disperse, money, rows) {
      const token = money.kind === 'token' ? money.address : undefined
      const content = rows.map(({ id, to, amount }) => `${id} ${to} ${amount}`).join('\n')
      const print = keccak256(stringToHex(`${disperse} ${token}\n${content}`)).slice(2, 14)
      // A row's id has no `~`.
      const pack = `~pack-${count}-${print}`
      return write({ pack, disperse, ...(token && { token }), rows: rows.map(({ id }) => id) })
    },
    approval: (token, spender, amount) =>
      write({ approval: `~approval-${count}`, token, spender, amount: `${amount}` }),
    async released(token, spender) {
      await write({ released: token, spender })
    },
    close: () => file.close(),
  }
}

async function append(file: FileHandle, entry: Entry): Promise<void> {
  await file.appendFile(`${JSON.stringify(entry)}\n`)
  await file.sync()
}

/** The complete lines of the file, and their length. */
async function entriesIn(path: string): Promise<{ entries: readonly Entry[]; bytes: number }> {
  const text = await readFile(path, 'utf8')
  const whole = text.slice(0, text.lastIndexOf('\n') + 1)
  const lines = whole.split('\n').slice(0, -1)
  return { entries: lines.map((line, index) => entryOf(path, line, index)), bytes: Buffer.byteLength(whole) }
}

function entryOf(path: string, line: string, index: number): Entry {
  const entry = parsed(line)
  const isRight = index === 0 ? 'version' in entry && entry.version === 1 : isPin(entry)
  if (isRight) return entry as Entry
  throw new Refusal(
    `${path} is damaged in line ${index + 1}: restore it. It says which rows share a transaction.`,
  )
}

function parsed(line: string): object {
  try {
    const read: unknown = JSON.parse(line)
    return typeof read === 'object' && read !== null ? read : {}
  } catch {
    return {}
  }
}

function isPin(entry: object): boolean {
  const { pack, rows, disperse, approval, token, spender, released } = entry as Record<string, unknown>
  if (pack !== undefined) return Array.isArray(rows) && isAddress(String(disperse), { strict: false })
  if (approval !== undefined)
    return [token, spender].every((each) => isAddress(String(each), { strict: false }))
  return [released, spender].every((each) => isAddress(String(each), { strict: false }))
}

function pinsOf(entries: readonly Entry[]): Pins {
  const packs: Pin[] = []
  const approvals: ApprovalPin[] = []
  const opened = new Map<string, Pick<ApprovalPin, 'token' | 'spender'>>()
  for (const entry of entries) {
    if ('pack' in entry) packs.push(entry)
    if ('approval' in entry) {
      approvals.push(entry)
      opened.set(keyOf(entry.token, entry.spender), entry)
    }
    if ('released' in entry) opened.delete(keyOf(entry.released, entry.spender))
  }
  return { packs, approvals, open: [...opened.values()] }
}

const keyOf = (token: Address, spender: Address) => `${token} ${spender}`.toLowerCase()
