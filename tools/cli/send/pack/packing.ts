import { existsSync } from 'node:fs'
import type { Address } from 'viem'
import type { Connection } from '../../shared/connect.js'
import { moneyKey } from '../file/amountText.js'
import type { Money, Row } from '../file/rows.js'
import { type Journal, type JournalFiles, writeJournal } from '../pay/journal.js'
import { checkContract, checkToken } from './check.js'
import { type Disperse, findDisperse } from './contract/contract.js'
import { isPayment } from './payment.js'
import { openPins, type PinFile } from './pins.js'

/** The parts that a run with packs needs. */
export type Packing = {
  readonly pinFile: PinFile
  /** Undefined for a run that makes no packs, and only follows those of earlier runs. */
  readonly contract: WithContract | undefined
}

/** A contract that passed its checks. */
export type WithContract = {
  readonly disperse: Disperse
  /** Rows in one transaction, at most. */
  readonly size: number
  /** Checks a token once. @throws Refusal if a pack of it is not safe */
  readonly checkToken: (rows: readonly Row[]) => Promise<void>
}

type Asked = { readonly pack: number | undefined; readonly disperse: Address | undefined }

/**
 * Finds the contract and checks it before anything is sent. Undefined without `--pack`.
 * @throws Refusal if there is none, or it does not pay exactly
 */
export async function prepareContract(
  { client, chain }: Pick<Connection, 'client' | 'chain'>,
  account: Address,
  asked: Asked,
): Promise<WithContract | undefined> {
  if (asked.pack === undefined) return undefined
  const disperse = await findDisperse(client, chain.name, asked.disperse)
  const checked = { client, account, disperse }
  await checkContract(checked)
  const tokens = new Map<string, Promise<void>>()
  return {
    disperse,
    size: asked.pack,
    checkToken(rows) {
      const key = moneyKey((rows[0] as Row).money)
      const check = tokens.get(key) ?? checkToken(checked, rows)
      tokens.set(key, check)
      return check
    },
  }
}

/** Checks each token of a file that no run has begun. @throws Refusal if a pack of one is not safe */
export async function checkTokens({ checkToken: check }: WithContract, rows: readonly Row[]): Promise<void> {
  const byMoney = new Map<string, { readonly money: Money; readonly rows: Row[] }>()
  for (const row of rows) {
    if (!isPayment(row)) continue
    const key = moneyKey(row.money)
    const known = byMoney.get(key)
    if (known === undefined) byMoney.set(key, { money: row.money, rows: [row] })
    else known.rows.push(row)
  }
  for (const { money, rows: own } of byMoney.values()) if (money.kind === 'token') await check(own)
}

/**
 * Opens the pins of a file. Undefined if the run makes no packs and no earlier run made some. From then on the
 * journal says that the pins belong to it.
 */
export async function openPacking(
  files: JournalFiles,
  journal: Journal,
  contract: WithContract | undefined,
): Promise<Packing | undefined> {
  if (contract === undefined && !existsSync(files.packs)) return undefined
  const pinFile = await openPins(files.packs)
  if (!journal.packed) await writeJournal(files, { ...journal, packed: true })
  return { pinFile, contract }
}
