// Code that a bot, a relayer and a batch script want to write, as a type test of the public surface: it is
// compiled with everything else (`npm run typecheck`), and never run. Each `@ts-expect-error` must precede an
// error, else the compiler reports it as unused.
import {
  type Address,
  BaseError,
  ContractFunctionRevertedError,
  createClient,
  createPublicClient,
  createWalletClient,
  fallback,
  type Hash,
  type Hex,
  http,
  parseAbi,
  parseEther,
  webSocket,
} from 'viem'
import { privateKeyToAccount, toAccount } from 'viem/accounts'
import { simulateContract } from 'viem/actions'
import { base, celo, mainnet } from 'viem/chains'
import {
  chainReads,
  createLanes,
  createNonceAllocator,
  createSender,
  entryPointNonce,
  laneActions,
  type Tx,
  TxlaneError,
} from '../../src/index.js'
import { sqliteStore } from '../../src/store/sqlite/index.js'

const abi = parseAbi([
  'function quote(uint256 bid, uint256 ask)',
  'error BadPrice(uint256)',
  'constructor(uint256)',
])
const book = '0x0000000000000000000000000000000000000001' as const
// (a) bot
async function bot(key: Hex, feed: AsyncIterable<{ bid: bigint; ask: bigint }>) {
  const client = createWalletClient({ account: privateKeyToAccount(key), chain: base, transport: http() })
  await using s = createSender({
    client,
    endpoints: [
      { client: createClient({ chain: base, transport: http('https://sequencer') }), role: 'send' },
    ],
    fees: { ceiling: { maxFeePerGas: 10n ** 9n } },
  })
  const ws = createClient({ chain: base, transport: webSocket('wss://x') })
  await ws.transport.subscribe({
    params: ['newFlashblockTransactions'] as never,
    onData: (d) => s.observe({ hashes: [d.result as Hash], blockNumber: 0n }),
  })
  await s.ready()
  let live: Tx<typeof base> | undefined
  for await (const q of feed) {
    const { request } = await simulateContract(client, {
      address: book,
      abi,
      functionName: 'quote',
      args: [q.bid, q.ask],
      blockTag: 'pending',
    })
    try {
      live = await s.writeContract(
        { ...request, gas: 120_000n },
        { expires: { atMs: Date.now() + 400 }, onExpiry: 'cancel', priority: 1 },
      )
      const r = await live.wait('preconfirmed', { timeoutMs: 600 })
      if (r.status === 'reverted') continue
      if (r.stage === 'sealed') r.receipt.l1Fee
    } catch (e) {
      if (e instanceof TxlaneError && e.fate === 'inFlight') await live?.cancel()
      else if (e instanceof BaseError && e.walk((x) => x instanceof ContractFunctionRevertedError)) continue
      else throw e
    }
  }
}
// (b) relayer
const kms = (address: Address) =>
  toAccount({
    address,
    async signMessage() {
      return '0x'
    },
    async signTransaction() {
      return '0x'
    },
    async signTypedData() {
      return '0x'
    },
  })
const lanes = createLanes({
  chains: [
    { client: createPublicClient({ chain: base, transport: fallback([http('a'), http('b')]) }) },
    { client: createPublicClient({ chain: mainnet, transport: http() }) },
    { client: createPublicClient({ chain: celo, transport: http() }) },
  ],
  store: sqliteStore({ path: 'x' }),
})
async function post(body: { to: Address; data: Hex }, idem: string | undefined) {
  const s = lanes.sender({ chainId: 8453, account: kms('0x0000000000000000000000000000000000000002') })
  try {
    const tx = await s.send(body, { id: idem, until: 'queued' })
    return { code: 202, tx: tx.toJSON() }
  } catch (e) {
    if (e instanceof TxlaneError && e.code === 'ID_CONFLICT') return { code: 409 }
    throw e
  }
}
async function celoSend() {
  await lanes.sender({ chainId: 42220, account: kms('0x') }).send({ to: '0x', feeCurrency: '0x' })
  // @ts-expect-error not configured
  lanes.sender({ chainId: 5, account: kms('0x') })
}
// (c) batch
async function payout(rows: { key: string; to: Address; eth: string }[], key: Hex) {
  const client = createWalletClient({ account: privateKeyToAccount(key), chain: mainnet, transport: http() })
  await using s = createSender({
    client,
    store: sqliteStore({ path: './payout.db' }),
    fees: { ceiling: { maxFeePerGas: 30n * 10n ** 9n } },
  })
  const items = rows.map((r) => ({ id: r.key, request: { to: r.to, value: parseEther(r.eth) } }))
  for await (const r of s.sendMany(items, { until: 'sealed' }))
    if (!r.ok) console.error(r.index, r.error.code, r.error.fate)
    else if (r.landed?.status === 'reverted') console.error(r.index, 'reverted', r.tx.hash)
}
// types
const pub = createPublicClient({ chain: base, transport: http() })
// @ts-expect-error account missing
createSender({ client: pub })
// @ts-expect-error json-rpc account
createSender({ client: createWalletClient({ account: '0x', chain: base, transport: http() }) })
// @ts-expect-error no chain
createSender({ client: createWalletClient({ account: privateKeyToAccount('0x'), transport: http() }) })
const d = createSender({ client: pub, account: kms('0x') })
// @ts-expect-error the lane owns the nonce
void d.send({ to: '0x', nonce: 1 })
// @ts-expect-error wrong args
void d.writeContract({ address: book, abi, functionName: 'quote', args: ['x', 1n] })
await d.deployContract({ abi, bytecode: '0x', args: [1n] })
await pub.extend(chainReads()).reads.getStorageAt({ address: '0x', slot: '0x0', block: 'pending' })
const al = createNonceAllocator({
  client: pub,
  address: '0x',
  source: entryPointNonce({ entryPoint: '0x', sender: '0x' }),
})
const nb: bigint = (await al.reserve()).nonce
const nn: number = (await createNonceAllocator({ client: pub, address: '0x' }).reserve()).nonce

const wc = createWalletClient({ account: privateKeyToAccount('0x'), chain: base, transport: http() })
const laned = wc.extend(laneActions(createSender({ client: wc })))
const h = await laned.writeContract({ address: book, abi, functionName: 'quote', args: [1n, 2n] })
const rc = await laned.waitForTransactionReceipt({ hash: h })
rc.l1Fee

export { bot, celoSend, nb, nn, payout, post, rc }
