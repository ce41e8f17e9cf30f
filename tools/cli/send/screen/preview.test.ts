import {
  createClient,
  custom,
  defineChain,
  encodeFunctionData,
  erc20Abi,
  type Hex,
  RpcRequestError,
  toHex,
} from 'viem'
import { expect, test } from 'vitest'
import type { Money, Payout, Row } from '../file/rows.js'
import { missingAtCeiling, missingIn, previewOf } from './preview.js'
import { renderPreview } from './previewText.js'

const ACCOUNT = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const TOKEN = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'
const GWEI = 10n ** 9n
const ETHER: Money = { kind: 'native', symbol: 'ETH' }
const USDC: Money = { kind: 'token', address: TOKEN, symbol: 'USDC', decimals: 6 }
const chain = defineChain({
  id: 5,
  name: 'chain 5',
  nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
  rpcUrls: { default: { http: [] } },
})

type Estimate = (request: { readonly to: string; readonly data?: Hex }) => Hex

/** A node with a base fee of 9 gwei, a tip of 1 gwei, and 2 ether and 100 USDC in the account. */
function node(estimate: Estimate = () => toHex(21_000)) {
  let estimates = 0
  const client = createClient({
    chain,
    transport: custom(
      {
        async request({ method, params }: { method: string; params: never[] }) {
          if (method === 'eth_getBlockByNumber')
            return { baseFeePerGas: toHex(9n * GWEI), number: '0x1', transactions: [] }
          if (method === 'eth_maxPriorityFeePerGas') return toHex(GWEI)
          if (method === 'eth_getBalance') return toHex(2n * 10n ** 18n)
          if (method === 'eth_call') return toHex(100_000_000n, { size: 32 })
          if (method !== 'eth_estimateGas') throw new Error(`${method} is not expected`)
          estimates++
          return estimate(params[0] as never)
        },
      },
      { retryCount: 0 },
    ),
  })
  return { client: client as never as Parameters<typeof previewOf>[0], estimates: () => estimates }
}

const transfer = (line: number, wei: bigint): Row => ({
  line,
  id: `${line}`,
  to: ACCOUNT,
  amount: wei,
  money: ETHER,
  request: { to: ACCOUNT, value: wei },
  cells: [],
})

const inToken = (line: number, amount: bigint): Row => ({
  ...transfer(line, 0n),
  amount,
  money: USDC,
  request: {
    to: TOKEN,
    value: 0n,
    data: encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args: [ACCOUNT, amount] }),
  },
})

function shown(preview: Awaited<ReturnType<typeof previewOf>>, rest: Partial<Payout> = {}, width?: number) {
  const payout = { rows: preview.rows, understood: [['columns', 'to, amount'] as const], doubts: [], ...rest }
  return renderPreview(
    { preview, payout, from: ACCOUNT, chain: { name: '5 at x' }, plan: 'abc', standings: undefined },
    { isTTY: width !== undefined, columns: width ?? 0 },
  )
}

test('shows the totals, the fees now and at the ceiling, and each balance before and after', async () => {
  const { client } = node()
  const rows = [transfer(2, 10n ** 18n), inToken(3, 60_000_000n), inToken(4, 15_500_000n)]
  const text = shown(await previewOf(client, ACCOUNT, rows))
  expect(text.split('\n').slice(0, -1)).toEqual([
    'columns       to, amount',
    'chain         5 at x',
    `from          ${ACCOUNT}`,
    'fees          about 0.00063 ETH at the present price of 10 gwei per gas',
    'at most       0.01197 ETH at 190 gwei per gas, the highest price that txlane offers by itself',
    'balance ETH   2 ETH, afterwards about 0.9993 ETH',
    'balance USDC  100 USDC, afterwards 24.5 USDC',
    'plan          abc',
  ])
})

test('shows the missing amount of each currency, and the amount for a rise of the fees', async () => {
  const { client } = node()
  const rows = [transfer(2, 2n * 10n ** 18n), inToken(3, 100_000_001n)]
  const preview = await previewOf(client, ACCOUNT, rows)
  expect(missingIn(preview)).toEqual([
    { money: ETHER, amount: 42_000n * 10n * GWEI },
    { money: USDC, amount: 1n },
  ])
  const text = shown(preview)
  expect(text).toContain('balance USDC  100 USDC, which is not enough')
  expect(text).toContain('Not enough: 0.00042 ETH missing for payments and fees.\n')
  expect(text).toContain('Not enough: 0.000001 USDC missing for the payments.\n')

  const tight = await previewOf(client, ACCOUNT, [transfer(2, 2n * 10n ** 18n - 21_000n * 100n * GWEI)])
  expect([missingIn(tight), missingAtCeiling(tight)]).toEqual([[], 21_000n * 90n * GWEI])
  expect(shown(tight)).toContain('If they rise to the highest price, 0.00189 ETH is missing')
})

test('tries at most 200 of many lines, the first and some of each kind, and says so', async () => {
  const { client, estimates } = node(({ data }) => toHex(data === undefined ? 21_000 : 50_000))
  const rows = Array.from({ length: 20_000 }, (_, at) =>
    at % 100 === 99 ? inToken(at + 2, 1n) : transfer(at + 2, 1n),
  )
  const preview = await previewOf(client, ACCOUNT, rows)
  expect(estimates()).toBeLessThanOrEqual(200)
  expect(preview.fees.nowWei).toBe((19_800n * 21_000n + 200n * 50_000n) * 10n * GWEI)
  expect(shown(preview)).toMatch(/extrapolated from \d+ lines of 20,000/)
})

const rpcError = (code: number, message: string) =>
  new RpcRequestError({ body: {}, error: { code, message }, url: 'x' })

test('shows the answer of the node to each doubtful line, and its consequence', async () => {
  const { client } = node(({ to }) => {
    if (to === '0x0000000000000000000000000000000000000001') throw rpcError(3, 'execution reverted: paused')
    if (to === '0x0000000000000000000000000000000000000002') throw rpcError(-32_000, 'server is busy')
    return toHex(21_000)
  })
  const at = (line: number, end: number): Row => {
    const to = `0x${String(end).padStart(40, '0')}` as const
    return { ...transfer(line, 1n), to, request: { to, value: 1n } }
  }
  const text = shown(await previewOf(client, ACCOUNT, [at(2, 1), at(3, 1), at(4, 3), at(5, 2)]))
  expect(text).toContain(
    'Lines 2 and 3 would revert now. txlane runs them again when their turn comes: a line that still reverts is not sent, costs nothing, and is reported as failed. The node says: “execution reverted: paused”.\n',
  )
  expect(text).toContain(
    'Line 5 could not be checked, because the node gave no usable answer. txlane asks again before it sends it. The answer was: “server is busy”.\n',
  )
})

test('fees that no estimate shows are not known, and are no 0', async () => {
  const broke = node(() => {
    throw rpcError(-32_000, 'insufficient funds for transfer')
  })
  const none = shown(await previewOf(broke.client, ACCOUNT, [transfer(2, 5n * 10n ** 18n)]))
  expect(none).toContain('fees         not known: the node estimated no line\n')
  expect(none).not.toMatch(/at most|0 ETH at/)
  expect(none).toContain('Not enough: 3 ETH missing for payments and the known fees.')
  const some = node(({ data }) => {
    if (data !== undefined) throw rpcError(-32_000, 'server is busy')
    return toHex(21_000)
  })
  const text = shown(await previewOf(some.client, ACCOUNT, [transfer(2, 1n), inToken(3, 1n)]))
  expect(text).toContain('per gas, without 1 line whose gas is not known\n')
})

test('lines that fail for one reason share a sentence, also where the node names other amounts', async () => {
  const { client } = node(({ to }) => {
    throw rpcError(-32_000, `insufficient funds: have 0 want ${BigInt(to)}`)
  })
  const at = (line: number): Row => {
    const to = `0x${String(line).padStart(40, '0')}` as const
    return { ...transfer(line, 1n), to, request: { to, value: 1n } }
  }
  const text = shown(await previewOf(client, ACCOUNT, [2, 3, 4, 5, 6, 7, 8].map(at)))
  expect(text.match(/insufficient funds/g)).toHaveLength(1)
  expect(text).toMatch(/Lines 2, 3, 4, 5, 6 and 2 more have to wait .* want 2” \(line 2\)\.\n/)
  const odd = node(({ to }) => {
    throw rpcError(-32_000, `busy ${'x'.repeat(Number(BigInt(to)))}`)
  })
  expect(shown(await previewOf(odd.client, ACCOUNT, [2, 3, 4, 5, 6, 7, 8].map(at)))).toContain(
    '2 further lines with other answers: --json lists all.\n',
  )
})

test('no line is wider than the terminal, apart from an address or a hash', async () => {
  const { client } = node(() => {
    throw rpcError(3, 'execution reverted: paused')
  })
  const preview = await previewOf(client, ACCOUNT, [transfer(2, 5n * 10n ** 18n), inToken(3, 1n)])
  for (const width of [60, 80, 120]) {
    const lines = shown(
      preview,
      { understood: [['file', 'a CSV file with semicolons, columns to and amount, amounts in ETH']] },
      width,
    ).split('\n')
    expect(lines.filter((line) => line.length > width)).toEqual([])
  }
})
