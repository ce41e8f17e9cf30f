import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import solc from 'solc'
import type { Abi, Hex } from 'viem'

export type CompiledContract = { readonly abi: Abi; readonly bytecode: Hex }

type Output = {
  readonly errors?: readonly { readonly severity: string; readonly formattedMessage: string }[]
  readonly contracts?: Record<string, Record<string, { abi: Abi; evm: { bytecode: { object: string } } }>>
}

const SOURCE = new URL('./Ledger.sol', import.meta.url)
const ARTIFACT = new URL('./artifact.ts', import.meta.url)

// Paris has no PUSH0, so the bytecode also runs on older chains. Without the metadata hash, a comment does
// not change the bytecode.
const SETTINGS = {
  evmVersion: 'paris',
  optimizer: { enabled: true, runs: 200 },
  metadata: { bytecodeHash: 'none', appendCBOR: false },
  outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } },
}

/** Compiles `Ledger.sol`. @throws Error with the compiler's messages, including warnings. */
export function compileLedger(): { readonly ledger: CompiledContract; readonly child: CompiledContract } {
  const input = {
    language: 'Solidity',
    sources: { 'Ledger.sol': { content: readFileSync(SOURCE, 'utf8') } },
    settings: SETTINGS,
  }
  const output = JSON.parse(solc.compile(JSON.stringify(input)) as string) as Output
  if (output.errors?.length) throw new Error(output.errors.map((one) => one.formattedMessage).join('\n'))
  const compiled = (name: string): CompiledContract => {
    const contract = output.contracts?.['Ledger.sol']?.[name]
    if (contract === undefined) throw new Error(`the compiler gave no contract ${name}`)
    return { abi: contract.abi, bytecode: `0x${contract.evm.bytecode.object}` }
  }
  return { ledger: compiled('Ledger'), child: compiled('Child') }
}

/** The text of `artifact.ts`, before formatting. */
function artifactText(): string {
  const { ledger, child } = compileLedger()
  return [
    '// Generated from Ledger.sol by `npx tsx test/demo/contracts/compile.ts && npm run format`.',
    `export const ledgerContract = ${JSON.stringify(ledger)} as const`,
    `export const childContract = ${JSON.stringify(child)} as const`,
    '',
  ].join('\n\n')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(ARTIFACT, artifactText())
