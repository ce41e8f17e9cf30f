import solc from 'solc'
import type { Abi, Hex } from 'viem'

const SETTINGS = {
  evmVersion: 'paris',
  optimizer: { enabled: true, runs: 200 },
  outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object', 'evm.deployedBytecode.object'] } },
}

type Output = {
  readonly errors?: readonly { readonly formattedMessage: string }[]
  readonly contracts?: Record<string, Record<string, { abi: Abi; evm: Record<Code, { object: string }> }>>
}

type Code = 'bytecode' | 'deployedBytecode'

/**
 * Compiles the contract of that name from a source text.
 * @throws Error with the compiler's messages, warnings included
 */
export function compile(
  name: string,
  content: string,
): { readonly abi: Abi; readonly bytecode: Hex; readonly runtime: Hex } {
  const input = { language: 'Solidity', sources: { 'Source.sol': { content } }, settings: SETTINGS }
  const output = JSON.parse(solc.compile(JSON.stringify(input)) as string) as Output
  if (output.errors?.length) throw new Error(output.errors.map((one) => one.formattedMessage).join('\n'))
  const contract = output.contracts?.['Source.sol']?.[name]
  if (contract === undefined) throw new Error('the compiler gave no contract')
  const { bytecode, deployedBytecode } = contract.evm
  return { abi: contract.abi, bytecode: `0x${bytecode.object}`, runtime: `0x${deployedBytecode.object}` }
}
