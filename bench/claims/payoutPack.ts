import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type Abi,
  type Address,
  createPublicClient,
  createWalletClient,
  erc20Abi,
  type Hex,
  http,
  numberToHex,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { findGeth, NO_GETH } from '../../test/nodes/find/geth.js'
import { bundleChild } from '../../test/support/bundleChild.js'
import { ended } from '../../test/support/ended.js'
import { compileDisperse, compileToken } from '../../test/support/payoutContracts.js'
import type { Money, Row } from '../../tools/cli/send/file/rows.js'
import { packRequest } from '../../tools/cli/send/pack/payment.js'
import { atMost, type Claim, type Figure, medianOf } from '../claim.js'
import { type Geth, paidAccount, startGeth } from '../support/geth.js'
import { chainOf } from '../support/node.js'
import { figuresOf } from '../support/spread.js'

const SIZES = [1, 10, 100, 400] as const
const MONEYS = ['native', 'token'] as const
/** Gas limit of a block, as Ethereum has it. */
const GAS_LIMIT = 60_000_000

type Currency = (typeof MONEYS)[number]
type Run = { readonly gas: number; readonly seconds: number }

const nameOf = (size: number) => (size === 1 ? 'one line' : `${size} lines`)
const gasOf = (money: Currency) => `gas of a line, ${money}`
const timeOf = (money: Currency) => `time of a line, ${money}`

/** `txlane send --pack N` on geth: the gas and the time of a line, to recipients that were paid before. */
export const claim: Claim = {
  says: 'Several payments in one transaction cost less gas and time than one each.',
  transactions: 1_200,
  async run({ rounds, transactions, say }) {
    const geth = await findGeth()
    if (geth === undefined) return { leftOut: NO_GETH }
    await using program = await bundleChild(new URL('../../tools/cli/main.ts', import.meta.url))
    const figures: Figure[] = []
    for (const money of MONEYS) {
      const runs = new Map<string, Run[]>(SIZES.map((size) => [nameOf(size), []]))
      for (let round = 0; round < rounds; round++) {
        for (const size of SIZES) {
          const run = await payFile({ geth, program: program.path, money, size, lines: transactions, round })
          runs.get(nameOf(size))?.push(run)
          say(
            `${money}, ${nameOf(size)}: ${run.gas.toFixed(0)} gas and ${(run.seconds * 1_000).toFixed(2)} ms a line`,
          )
        }
      }
      const of = (measure: string, unit: string, value: (run: Run) => number) =>
        figuresOf(
          { measure, unit },
          [...runs].map(([name, each]) => [name, each.map(value)] as const),
        )
      figures.push(
        ...of(gasOf(money), 'gas', ({ gas }) => gas),
        ...of(timeOf(money), 'ms', ({ seconds }) => seconds * 1_000),
      )
    }
    const share = (money: Currency) => {
      const [packed, alone] = [100, 1].map((size) => medianOf(figures, gasOf(money), nameOf(size)))
      return packed === undefined || alone === undefined ? undefined : packed / alone
    }
    return {
      figures,
      checks: [
        atMost('of the gas of a plain transfer of a token, in packs of 100', share('token'), 0.6),
        atMost('of the gas of a plain transfer of native currency, in packs of 100', share('native'), 0.7),
      ],
      notes: [
        `txlane send FILE --pack N, ${transactions} lines, on geth --dev --dev.period 1 --dev.gaslimit ${GAS_LIMIT}. The gas has the approval of a token in it, the time the start of the command and the seconds until it knows the last block.`,
        'Every recipient has some of the currency already.',
      ],
    }
  },
}

type Paid = {
  readonly geth: string
  readonly program: string
  readonly money: Currency
  readonly size: number
  readonly lines: number
  readonly round: number
}

/** Pays a file on a new chain. @throws Error if not all lines were paid exactly */
async function payFile({ geth, program, money, size, lines, round }: Paid): Promise<Run> {
  await using node = await startGeth(geth, { gasLimit: GAS_LIMIT })
  const { privateKey } = await paidAccount(node, `pack ${money} ${size} ${round}`)
  const chain = openChain(node, privateKey)
  const disperse = await chain.deploy(compileDisperse('Disperse'))
  const token = await chain.deploy(compileToken('Coin'))
  const folder = await mkdtemp(join(tmpdir(), 'txlane-pack-bench-'))
  try {
    const file = join(folder, 'pay.csv')
    const coin: Money = money === 'native' ? { kind: 'native', symbol: 'ETH' } : { ...COIN, address: token }
    await chain.payBefore(disperse, coin, lines)
    const unit = money === 'native' ? 'wei' : 'base'
    const rows = Array.from({ length: lines }, (_, index) => `${payee(index)},${index + 1} ${unit}`)
    await writeFile(file, `to,amount\n${rows.join('\n')}\n`)
    const args = [
      ...(money === 'token' ? ['--token', token] : []),
      ...(size > 1 ? ['--pack', `${size}`, '--disperse', disperse] : []),
    ]
    const from = await chain.nonce()
    const begunAtMs = performance.now()
    const child = spawn(process.execPath, [program, 'send', file, '--yes', ...args], {
      env: { PATH: process.env.PATH, TXLANE_RPC_URL: node.url, TXLANE_PRIVATE_KEY: privateKey },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const { code, err } = await ended(child)
    const seconds = (performance.now() - begunAtMs) / 1_000
    if (code !== 0) throw new Error(`txlane send ended with ${code}: ${err}`)
    const hashes = new Set((await readFile(`${file}.results.csv`, 'utf8')).match(/0x[0-9a-f]{64}/g))
    const transactions = (await chain.nonce()) - from
    const extra = transactions - hashes.size
    if (extra < 0 || extra > 1) throw new Error(`${transactions} transactions for ${hashes.size} hashes`)
    return { gas: (await chain.gasSince(from)) / lines, seconds: seconds / lines }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const COIN = { kind: 'token', symbol: 'COIN', decimals: 6 } as const
const BEFORE = 50

const payee = (index: number): Address => numberToHex(0xfeed_0000_0000 + index, { size: 20 })

function openChain(node: Geth, privateKey: Hex) {
  const chain = chainOf(node.url, node.chain)
  const account = privateKeyToAccount(privateKey)
  const reader = createPublicClient({ chain, transport: http(node.url) })
  const wallet = createWalletClient({ chain, account, transport: http(node.url) })
  return {
    async deploy(code: { readonly abi: Abi; readonly bytecode: Hex }): Promise<Address> {
      const hash = await wallet.deployContract({ ...code, args: [] })
      return (await reader.waitForTransactionReceipt({ hash })).contractAddress as Address
    },
    /** Pays each recipient one unit, so that nothing is created in the measured run. */
    async payBefore(disperse: Address, money: Money, lines: number): Promise<void> {
      const rows = Array.from({ length: lines }, (_, index) => ({ to: payee(index), amount: 1n }) as Row)
      const hashes: Hex[] = []
      if (money.kind === 'token') {
        const args = [disperse, BigInt(lines)] as const
        hashes.push(
          await wallet.writeContract({
            address: money.address,
            abi: erc20Abi,
            functionName: 'approve',
            args,
          }),
        )
      }
      for (let at = 0; at < lines; at += BEFORE) {
        const request = packRequest(disperse, money, rows.slice(at, at + BEFORE))
        hashes.push(await wallet.sendTransaction({ ...request, gas: 16_000_000n }))
      }
      for (const hash of hashes) {
        const { status } = await reader.waitForTransactionReceipt({ hash })
        if (status !== 'success') throw new Error('the recipients were not paid before')
      }
    },
    nonce: () => reader.getTransactionCount(account),
    /** The gas of the account's transactions from this nonce on. */
    async gasSince(nonce: number): Promise<number> {
      const last = await reader.getBlockNumber({ cacheTime: 0 })
      let gas = 0n
      for (let number = 0n; number <= last; number++) {
        const { transactions } = await reader.getBlock({ blockNumber: number, includeTransactions: true })
        const own = transactions.filter(
          (each) => each.from.toLowerCase() === account.address.toLowerCase() && each.nonce >= nonce,
        )
        const receipts = await Promise.all(own.map(({ hash }) => reader.getTransactionReceipt({ hash })))
        for (const { gasUsed } of receipts) gas += gasUsed
      }
      return Number(gas)
    },
  }
}
