import { readFileSync } from 'node:fs'
import { availableParallelism, cpus, totalmem } from 'node:os'

/** The machine that figures depend on. No names of hosts or users. */
export type Machine = {
  readonly cpu: string
  readonly cores: number
  readonly memoryGiB: number
  readonly system: string
  readonly node: string
}

const PACKAGES = ['txlane', 'viem', 'ethers', '@latticexyz/common', '@foundry-rs/anvil', 'libsql', 'pg']

export function thisMachine(): Machine {
  return {
    cpu: cpus()[0]?.model.trim() || 'unknown',
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${process.platform} ${process.arch}`,
    node: process.version,
  }
}

export function describeMachine({ cpu, cores, memoryGiB, system, node }: Machine): string {
  return `${cpu}, ${cores} cores, ${memoryGiB} GiB, ${system}, Node ${node}`
}

/** Installed versions of the packages. */
export function versions(): Readonly<Record<string, string>> {
  return Object.fromEntries(PACKAGES.map((name) => [name, versionOf(name)]))
}

function versionOf(name: string): string {
  const path = name === 'txlane' ? '../../package.json' : `../../node_modules/${name}/package.json`
  const manifest = JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')) as { version: string }
  return manifest.version
}
