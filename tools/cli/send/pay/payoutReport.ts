import { readFile } from 'node:fs/promises'
import { parse } from 'csv-parse/sync'
import { type Address, type Hash, parseUnits } from 'viem'
import { uncell } from '../../../report/payout/csvCell.js'
import type { PayoutLine, PayoutReport } from '../../../report/payout/payout.js'
import { knownChain } from '../../shared/chains.js'
import { Refusal } from '../../shared/program.js'
import { isPersonColumn, meaningOf } from '../file/words/header.js'
import {
  filesOf,
  JOURNAL_ENDING,
  type JournalFiles,
  type JournalRow,
  type JournalV2,
  parseJournal,
  RESULTS_ENDING,
} from './journal.js'
import { ADDED } from './results.js'

/** The path of the file that was paid, from its own path or that of its journal or its results. */
export function paidFileOf(path: string): string {
  const ending = [JOURNAL_ENDING, RESULTS_ENDING].find((each) => path.endsWith(each))
  return ending === undefined ? path : path.slice(0, -ending.length)
}

/**
 * Reads the payout of a file from its journal and its results. `path` names the file or one of the two.
 * @throws Refusal if one of them is missing, or was written by a version that stored less
 */
export async function readPayoutReport(path: string): Promise<PayoutReport> {
  const files = filesOf(paidFileOf(path))
  const journal = await journalAt(files)
  const results = await resultsAt(files)
  const chain = await knownChain(journal.chainId)
  const symbol = chain?.nativeCurrency.symbol ?? feeUnitIn(results) ?? 'ETH'
  const lineOf = lineReader(journal, symbol)
  return {
    file: journal.file,
    chain: {
      id: journal.chainId,
      name: chain?.name ?? `chain ${journal.chainId}`,
      symbol,
      explorer: chain?.blockExplorers?.default.url,
    },
    account: journal.account,
    begunAt: journal.begunAt,
    lines: journal.rows.map((row) => lineOf(row, results.get(row.id))),
  }
}

async function journalAt({ journal: path }: JournalFiles): Promise<JournalV2> {
  const journal = parseJournal(await textOf(path))
  if (journal === undefined) throw new Refusal(`${path} is not a journal of txlane.`)
  if (journal.version === 2) return journal
  throw new Refusal(`An earlier version of txlane wrote ${path}. ${RENEW}`)
}

type Result = Readonly<Record<(typeof ADDED)[number], string>>

const RENEW = 'Run txlane send once more: it sends nothing twice, and writes the file anew.'

/** The added columns of each line, by id. */
async function resultsAt({ results: path }: JournalFiles): Promise<ReadonlyMap<string, Result>> {
  const [head, ...lines] = parse(await textOf(path), {
    bom: true,
    record_delimiter: ['\r\n', '\n'],
  }) as string[][]
  const names = (head ?? []).slice(-ADDED.length).map((name) => name.replace(/^txlane_/, ''))
  if (names.join() !== ADDED.join()) throw new Refusal(`${path} has other columns than results. ${RENEW}`)
  return new Map(
    lines.map((cells) => {
      const own = cells.slice(-ADDED.length).map(uncell)
      const result = Object.fromEntries(ADDED.map((name, index) => [name, own[index] ?? ''])) as Result
      return [result.id, result]
    }),
  )
}

function textOf(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => {
    throw new Refusal(`${path} cannot be read. A report needs the journal and the results of a payout.`)
  })
}

/** The fee unit of an earlier run, for a chain that viem does not know. */
function feeUnitIn(results: ReadonlyMap<string, Result>): string | undefined {
  for (const { fee_unit } of results.values()) if (fee_unit !== '') return fee_unit
  return undefined
}

type Money = PayoutLine['money']

function lineReader(
  { columns, tokens }: JournalV2,
  symbol: string,
): (row: JournalRow, result: Result | undefined) => PayoutLine {
  const personAt = columns.findIndex(isPersonColumn)
  const noteAt = columns.findIndex((name) => meaningOf(name)?.role === 'note')
  const native: Money = { symbol, decimals: 18, token: undefined }
  const moneys = new Map<Address | undefined, Money>([[undefined, native]])
  for (const { address, ...shown } of tokens) moneys.set(address, { ...shown, token: address })
  return (row, result) => ({
    line: row.line,
    id: row.id,
    to: row.to,
    name: nameOf(row, row.cells[personAt]),
    note: row.cells[noteAt] || undefined,
    amount: BigInt(row.amount),
    money: moneys.get(row.token) ?? native,
    ...receivedOf(result, moneys.get(row.token) ?? native),
    ...resultOf(result),
  })
}

function receivedOf(result: Result | undefined, { decimals }: Money): Pick<PayoutLine, 'received'> {
  return result?.status === 'partial' ? { received: parseUnits(result.paid, decimals) } : {}
}

/** The person, the name that was resolved, or both. */
function nameOf({ name }: JournalRow, person = ''): string | undefined {
  if (person.trim() === '' || person === name) return name
  return name === undefined ? person : `${person} (${name})`
}

/** A line without a result was not begun. */
function resultOf(
  result: Result | undefined,
): Omit<PayoutLine, 'line' | 'id' | 'to' | 'name' | 'note' | 'amount' | 'money' | 'received'> {
  if (result === undefined) return { status: 'open' }
  const { status, nonce, hash, block, time, fee, shared_by, error } = result
  const given = <value>(text: string, read: (text: string) => value) => (text === '' ? undefined : read(text))
  return {
    status: status as PayoutLine['status'],
    nonce: given(nonce, Number),
    hash: given(hash, (text) => text as Hash),
    block: given(block, BigInt),
    time: given(time, String),
    feeWei: given(fee, (text) => parseUnits(text, 18)),
    sharedBy: given(shared_by, Number),
    error: given(error, String),
  }
}
