// A chain for the other examples: `npx tsx examples/devnet.ts`. It runs until it is stopped.
import { startDevnet } from 'txlane/devnet'

const devnet = await startDevnet({ port: Number(process.env.PORT ?? 8545) })
console.log(`export CHAIN_ID=${devnet.chain.id} RPC_URL=${devnet.url} WS_URL=${devnet.wsUrl}`)
console.log('export PRIVATE_KEY=0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80')
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void devnet.stop())
