import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type Abi,
  type Address,
  createPublicClient,
  createWalletClient,
  defineChain,
  erc20Abi,
  type Hex,
  http,
  pad,
  parseAbiItem,
  toHex,
} from 'viem'
import { bundleChild } from '../../support/bundleChild.js'
import { ended } from '../../support/ended.js'
import { compileDisperse, compileToken } from '../../support/payoutContracts.js'
import type { RunningNode } from '../run/startNode.js'
import { type Fresh, freshAccount } from '../tools/accounts.js'
import { within } from '../tools/within.js'
import type { NodeCase } from './nodeCase.js'

const LIMIT_MS = 60_000
const ROWS = 25
const PACK = 10
const TRANSFER = parseAbiItem('event Transfer(address indexed from, address indexed to, uint256 amount)')

/** The same two files, native currency and a token, paid plain and packed: each line by line, from the blocks. */
export const packs: NodeCase = {
  name: 'a packed payout pays what a plain one pays',
  quick: true,
  leftOut: ({ name }) => (/geth|anvil/.test(name) ? undefined : 'its calls have no state override'),
  async run(setting) {
    await using running = await setting.start({ mode: 'plain' })
    await using program = await bundleChild(new URL('../../../tools/cli/main.ts', import.meta.url))
    const fresh = await freshAccount(running)
    const chain = await openChain(running, fresh)
    const disperse = await chain.deploy(compileDisperse('Disperse'))
    const token = await chain.deploy(compileToken('StrictCoin'))
    const folder = await mkdtemp(join(tmpdir(), 'txlane-packs-'))
    const said: string[] = []
    let ok = true
    try {
      for (const coin of [undefined, token]) {
        const counts: number[] = []
        for (const [kind, start] of [
          ['plain', 0xa000],
          ['packed', 0xb000],
        ] as const) {
          const to = Array.from({ length: ROWS }, (_, index) => payee((coin ? 0x1_0000 : 0) + start + index))
          const file = join(folder, `${coin ? 'coins' : 'wei'}-${kind}.csv`)
          const unit = coin ? 'base' : 'wei'
          await writeFile(
            file,
            `to,amount\n${to.map((each, at) => `${each},${at + 1} ${unit}`).join('\n')}\n`,
          )
          const before = await chain.nonce()
          const more = kind === 'packed' ? ['--pack', `${PACK}`, '--disperse', disperse] : []
          await pay(program.path, [file, ...(coin ? ['--token', coin] : []), ...more], running, fresh)
          counts.push((await chain.nonce()) - before)
          ok &&= await chain.arePaid(to, coin, disperse)
        }
        const packed = Math.ceil(ROWS / PACK) + (coin ? 1 : 0)
        ok &&= counts[0] === ROWS && counts[1] === packed
        said.push(`${coin ? 'token' : 'native'}: ${counts.join(' and ')} transactions`)
      }
      return { ok, says: said.join(', ') }
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  },
}

const payee = (index: number): Address => pad(toHex(0xcafe_0000 + index), { size: 20 })

async function openChain({ url, rpc }: RunningNode, { account }: Fresh) {
  const chain = defineChain({
    id: Number((await rpc.call('eth_chainId')) as Hex),
    name: 'node',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [url] } },
  })
  const reader = createPublicClient({ chain, transport: http(url), pollingInterval: 100 })
  const wallet = createWalletClient({ chain, account, transport: http(url) })

  /** At the block of the end: the balances, and for a token one Transfer from the account for each line. */
  async function arePaid(to: readonly Address[], token: Address | undefined, disperse: Address) {
    const blockNumber = await reader.getBlockNumber({ cacheTime: 0 })
    const balances = await Promise.all(
      to.map((address) =>
        token === undefined
          ? reader.getBalance({ address, blockNumber })
          : reader.readContract({
              address: token,
              abi: erc20Abi,
              functionName: 'balanceOf',
              args: [address],
              blockNumber,
            }),
      ),
    )
    const isExact = balances.every((balance, index) => balance === BigInt(index + 1))
    if (token === undefined) return isExact
    const logs = await reader.getLogs({
      address: token,
      event: TRANSFER,
      fromBlock: 1n,
      toBlock: blockNumber,
    })
    const own = logs.filter(({ args }) => to.some((each) => each === args.to?.toLowerCase()))
    const from = new Set(own.map(({ args }) => args.from))
    const left = await reader.readContract({
      address: token,
      abi: erc20Abi,
      functionName: 'allowance',
      args: [account.address, disperse],
      blockNumber,
    })
    return isExact && own.length === to.length && from.size === 1 && from.has(account.address) && left === 0n
  }

  return {
    async deploy(code: { readonly abi: Abi; readonly bytecode: Hex }): Promise<Address> {
      const hash = await wallet.deployContract({ ...code, args: [] })
      return (await reader.waitForTransactionReceipt({ hash })).contractAddress as Address
    },
    nonce: () => reader.getTransactionCount(account),
    arePaid,
  }
}

/** @throws Error with the output of the command, if it does not pay all lines */
async function pay(program: string, args: readonly string[], { url }: RunningNode, { privateKey }: Fresh) {
  const child = spawn(process.execPath, [program, 'send', ...args, '--yes'], {
    env: { PATH: process.env.PATH, TXLANE_RPC_URL: url, TXLANE_PRIVATE_KEY: privateKey },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  try {
    const { code, out, err } = await within(LIMIT_MS, 'txlane send', ended(child))
    if (code !== 0) throw new Error(`txlane send ${args.join(' ')} ended with ${code}: ${err || out}`)
  } finally {
    child.kill('SIGKILL')
  }
}
