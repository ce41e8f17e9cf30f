import type { Address, Chain, Client, HttpTransport } from 'viem'
import { estimateGas } from 'viem/actions'
import { redactForeign } from '../../../../src/errors/redact.js'
import { mentionsRevert, normalise } from '../../../../src/rpc/matchMessage.js'
import type { Row } from '../file/rows.js'
import { answersFalse } from '../pay/transfers.js'

/** A line whose estimate failed, and the meaning of the failure. */
export type FailedEstimate = {
  readonly line: number
  /**
   * `reverts`: the node ran the line and it failed. `refuses`: the token answers that it moves nothing. `funds`: the account cannot pay it now. `unanswered`: no
   * answer about the line arrived.
   */
  readonly why: 'reverts' | 'refuses' | 'funds' | 'unanswered'
  /** The words of the node. */
  readonly message: string
}

export type Estimates = {
  /** The gas of all rows. Most of it is extrapolated if there are many. */
  readonly gas: bigint
  /** The number of rows whose gas is not known, because no row of their kind was estimated. They are not in `gas`. */
  readonly unknown: number
  /** The number of rows that the node estimated. */
  readonly tried: number
  readonly failed: readonly FailedEstimate[]
}

/** Thousands of estimates would add no information, and load the node. */
const TRIED_MAX = 200

export async function estimate(
  client: Client<HttpTransport, Chain>,
  account: Address,
  rows: readonly Row[],
): Promise<Estimates> {
  const kinds = kindsOf(rows)
  const failed: FailedEstimate[] = []
  let tried = 0
  let unknown = 0

  async function gasOf(row: Row): Promise<bigint> {
    const { line, request } = row
    tried++
    const [gas, refused] = await Promise.all([
      estimateGas(client, { account, ...request }).catch((error: Error) => {
        failed.push({ line, ...reasonOf(error) })
        return 0n
      }),
      answersFalse(client, account, row),
    ])
    if (refused && gas > 0n) failed.push({ line, why: 'refuses', message: 'false' })
    return gas
  }

  const sums = await Promise.all(
    kinds.map(async ({ sample, given, others }) => {
      const gas = await Promise.all(sample.map(gasOf))
      const most = gas.reduce((a, b) => (a > b ? a : b), 0n)
      if (most === 0n) unknown += sample.length + others
      const known = gas.reduce((sum, each) => sum + (each === 0n ? most : each), 0n)
      return known + given + most * BigInt(others)
    }),
  )
  return {
    gas: sums.reduce((a, b) => a + b, 0n),
    unknown,
    tried,
    failed: failed.sort((a, b) => a.line - b.line),
  }
}

type Kind = { sample: Row[]; given: bigint; others: number }

/** Rows of one kind need about the same gas: transfers, transfers of one token, calls of one function. */
function kindsOf(rows: readonly Row[]): readonly Kind[] {
  const sizes = new Map<string, number>()
  for (const row of rows) sizes.set(kindOf(row), (sizes.get(kindOf(row)) ?? 0) + 1)
  const kinds = new Map<string, Kind & { step: number; seen: number }>()
  for (const row of rows) {
    const name = kindOf(row)
    let kind = kinds.get(name)
    if (kind === undefined) {
      const size = sizes.get(name) as number
      const quota = Math.max(1, Math.floor((TRIED_MAX * size) / rows.length))
      // Beyond the limit a kind has no sample of its own.
      const step = kinds.size < TRIED_MAX ? Math.ceil(size / quota) : Number.POSITIVE_INFINITY
      kind = { sample: [], given: 0n, others: 0, step, seen: 0 }
      kinds.set(name, kind)
    }
    // The first row and then every n-th: a mistake is as likely at the end of a file.
    if (row.request.gas !== undefined) kind.given += row.request.gas
    else if (kind.seen++ % kind.step === 0) kind.sample.push(row)
    else kind.others++
  }
  return [...kinds.values()]
}

const SELECTOR_CHARS = 10

const kindOf = ({ request: { to, data } }: Row): string =>
  data === undefined ? 'transfer' : `${to} ${data.slice(0, SELECTOR_CHARS)}`

function reasonOf(error: Error): Pick<FailedEstimate, 'why' | 'message'> {
  const answer = answerIn(error)
  if (answer === undefined)
    return { why: 'unanswered', message: redactForeign(firstLine((error as Words).details ?? error.message)) }
  const words = answer.details ?? ''
  const message = redactForeign(firstLine(words))
  const text = normalise(words)
  // geth uses code 3 for a revert (internal/ethapi/errors.go). Other clients show it in the message only.
  if (answer.code === 3 || mentionsRevert(text)) return { why: 'reverts', message }
  return { why: text.includes('insufficient') ? 'funds' : 'unanswered', message }
}

type Words = { readonly name: string; readonly code?: number; readonly details?: string; cause?: unknown }

/** The answer of a node in an error of viem, found by its name because there may be several copies of viem. */
function answerIn(error: unknown): Words | undefined {
  for (let each = error as Words | undefined; each !== undefined; each = each.cause as Words | undefined)
    if (each.name === 'RpcRequestError') return each
  return undefined
}

const firstLine = (text: string): string => text.split('\n')[0] ?? ''
