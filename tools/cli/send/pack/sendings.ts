import type { Address, Client } from 'viem'
import { count } from '../../shared/output.js'
import { moneyKey } from '../file/amountText.js'
import type { Money, Row } from '../file/rows.js'
import type { RowResult } from '../pay/results.js'
import { TOGETHER } from '../pay/run.js'
import { ANSWERS_FALSE, type Transfers } from '../pay/transfers.js'
import type { Approvals } from './approvals.js'
import type { Claims, Followed } from './claims.js'
import { type Fit, fitPack, type Judge } from './fit.js'
import { createJudge, gasLimitOf, ROWS_MAX } from './judge.js'
import type { Packing, WithContract } from './packing.js'
import { packRequest, sumOf } from './payment.js'
import type { Sending, UnderWay } from './underWay.js'
import { packableBy, unitsOf } from './units.js'

// Enough for several blocks; few, so that a stopped run leaves little for its approval to wait for.
const PACKS_UNDER_WAY_MAX = 16
const LINES_SHOWN_MAX = 5
const REPORTS_MAX = 5

export type SendingParts = {
  readonly rows: readonly Row[]
  readonly claims: Claims
  readonly approvals: Approvals
  readonly underWay: UnderWay
  readonly put: (result: RowResult) => void
  readonly say: (text: string) => void
  readonly transfers: Transfers
  readonly account: Address
  readonly signal: AbortSignal
  readonly stopped: () => boolean
}

/** Transactions of earlier runs first, which are only followed; then the free rows, in packs and alone. */
export async function* createSendings(
  client: Client,
  packing: Packing,
  parts: SendingParts,
): AsyncGenerator<Sending> {
  const { claims, approvals, underWay, stopped } = parts
  for (const followed of followedIn(claims.followed, parts.rows)) yield followed
  await approvals.settle()
  const { contract } = packing
  if (contract === undefined) {
    yield* alone(claims.free, parts)
    return
  }
  // Packs under way still need their approvals.
  await underWay.packs(0)
  const make = await createPackMaker(client, packing, contract, parts)
  for (const { kind, rows } of unitsOf(claims.free, make.size, make.mayPack)) {
    if (stopped()) return
    if (kind === 'pack') yield* make.packs(rows)
    else yield* alone(rows, parts)
  }
}

async function* alone(
  rows: readonly Row[],
  { claims, transfers, stopped, put }: SendingParts,
): AsyncGenerator<Sending> {
  for (let from = 0; from < rows.length; from += TOGETHER) {
    if (stopped()) return
    const group = rows.slice(from, from + TOGETHER)
    const refused = await Promise.all(group.map((row) => transfers.answersFalse(row)))
    for (const [index, row] of group.entries()) {
      if (stopped()) return
      if (refused[index]) put({ row, status: 'failed', error: ANSWERS_FALSE })
      else yield { ...claims.attemptOf(row), request: row.request, shared: [row], rows: [row] }
    }
  }
}

function* followedIn(followed: readonly Followed[], rows: readonly Row[]): Generator<Sending> {
  const byId = new Map(rows.map((row) => [row.id, row]))
  for (const each of followed) {
    if (each.kind === 'alone') {
      const { id, row } = each
      yield { id, request: row.request, shared: [row], rows: [row] }
      continue
    }
    const { pack, disperse, rows: ids } = each.pin
    const shared = ids.map((id) => byId.get(id) as Row)
    const { money } = shared[0] as Row
    yield { id: pack, request: packRequest(disperse, money, shared), shared, rows: each.rows }
  }
}

type PackMaker = {
  readonly size: () => number
  readonly mayPack: (row: Row) => boolean
  packs(rows: readonly Row[]): AsyncGenerator<Sending>
}

async function createPackMaker(
  client: Client,
  { pinFile }: Packing,
  { disperse, size: asked, checkToken }: WithContract,
  parts: SendingParts,
): Promise<PackMaker> {
  const { claims, approvals, underWay, put, say, account, signal, stopped } = parts
  const gasMax = await gasLimitOf(client)
  const judge = createJudge(client, { account, disperse, gasMax, stopped, say })
  const { mayPack, planned } = packableBy(claims.free, asked, [account, disperse.address])
  let size = Math.min(asked, ROWS_MAX)
  let reports = 0

  /** Transactions under way may be the cause of a failure: the pack is judged once more when all of them have ended. */
  const patient: Judge = async (rows) => {
    const first = await judge(rows)
    if (first.ok || underWay.count === 0) return first
    await underWay.idle()
    return judge(rows)
  }

  /** Whether the contract may draw the token. If the approval fails, so do its rows. */
  async function isApproved(money: Money, rows: readonly Row[]): Promise<boolean> {
    if (money.kind === 'native') return true
    const all = planned.get(moneyKey(money)) ?? rows
    await checkToken(all)
    try {
      await approvals.ensure(money.address, disperse.address, sumOf(all))
      return true
    } catch (error) {
      if (stopped()) return false
      const words = (error as { shortMessage?: string }).shortMessage ?? (error as Error).message
      for (const row of rows) put({ row, status: 'failed', error: `The approval failed: ${words}` })
      return false
    }
  }

  function report({ packs, failing }: Fit, rows: readonly Row[]): void {
    const most = Math.max(0, ...packs.map((pack) => pack.rows.length))
    if (failing.length === 0 && packs.length > 1) {
      size = most
      say(`${count(rows.length, 'line')} are too many for one transaction: packs have at most ${most} lines.`)
    }
    if (failing.length === 0 || reports > REPORTS_MAX) return
    if (++reports > REPORTS_MAX)
      return say('Further lines that fail in a pack are sent alone, and reported at the end.')
    const lines = failing.slice(0, LINES_SHOWN_MAX).map(({ row, why }) => `  line ${row.line}: ${why}\n`)
    const more = failing.length > LINES_SHOWN_MAX ? `  … and ${failing.length - LINES_SHOWN_MAX} more\n` : ''
    say(
      `${count(failing.length, 'line')} cannot be paid in a pack, and will be sent alone:\n${lines.join('')}${more}`.trimEnd(),
    )
  }

  return {
    size: () => size,
    mayPack,
    async *packs(rows) {
      const { money } = rows[0] as Row
      if (!(await isApproved(money, rows))) return
      const fit = await fitPack(rows, patient)
      report(fit, rows)
      for (const pack of fit.packs) {
        await underWay.packs(PACKS_UNDER_WAY_MAX - 1)
        if (stopped()) return
        const { pack: id } = await pinFile.pack(disperse.address, money, pack.rows)
        const gas = pack.gas === undefined ? {} : { gas: pack.gas }
        const request = { ...packRequest(disperse.address, money, pack.rows), ...gas }
        yield { id, request, signal, shared: pack.rows, rows: pack.rows }
      }
      yield* alone(
        fit.failing.map(({ row }) => row),
        parts,
      )
    },
  }
}
