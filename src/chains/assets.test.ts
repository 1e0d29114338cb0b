import { getAddress, type Hex } from 'viem'
import { describe, expect, test } from 'vitest'
import { type Asset, AssetRefused, acceptAssets, assets } from './assets.ts'
import { confirmationsOf, isDeepEnough, requiredDepth } from './depth.ts'

const rows: readonly Asset[] = assets

describe.each(rows.map((asset) => [asset.assetId, asset] as const))('the row of %s', (_, asset) => {
  test('has lower-case addresses of the right form', () => {
    for (const address of [asset.tokenAddress, ...asset.mistakenFor]) {
      expect(address).toBe(address.toLowerCase())
      expect(getAddress(address as Hex)).toMatch(/^0x[0-9a-fA-F]{40}$/)
    }
    expect(asset.mistakenFor).not.toContain(asset.tokenAddress)
  })

  test('is in micro units, so that an amount of an order is an amount on the chain', () => {
    expect(asset.decimals).toBe(6)
  })

  test('has bounds, rate and depths that make sense', () => {
    expect(asset.ratePpm).toBeGreaterThan(0n)
    expect(asset.minAmountMicro).toBeGreaterThan(0n)
    expect(asset.maxAmountMicro).toBeGreaterThan(asset.minAmountMicro)
    expect(asset.confirmations.blocksUpToMicro).toBeLessThan(asset.confirmations.safeUpToMicro)
    expect(asset.finalizedBlocks).toBeGreaterThan(asset.safeBlocks)
    expect(asset.explorerUrl).toMatch(/^(https:\/\/[a-z.]+[a-z])?$/)
  })
})

test('no two rows share an id, or a token on a chain', () => {
  expect(new Set(rows.map((asset) => asset.assetId)).size).toBe(rows.length)
  expect(new Set(rows.map((asset) => `${asset.chainId} ${asset.tokenAddress}`)).size).toBe(rows.length)
})

describe('accepting assets', () => {
  const recipient = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'

  test('takes what the operator says, and the row where nothing is said', () => {
    const [asset] = acceptAssets({
      base_usdc: { recipient, ratePpm: 900_000n, confirmations: { blocks: 20 } },
    })
    expect(asset).toMatchObject({
      assetId: 'base_usdc',
      recipientAddress: recipient.toLowerCase(),
      enabled: true,
      ratePpm: 900_000n,
      minAmountMicro: 1_000_000n,
      confirmations: { blocks: 20, blocksUpToMicro: 100_000_000n, safeUpToMicro: 1_000_000_000n },
    })
  })

  test.each([
    ['an unknown asset', { base_usdt: { recipient } }, /no asset `base_usdt`. Known are base_usdc/],
    [
      'the token as recipient',
      { base_usdc: { recipient: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913' } },
      /what is sent there is lost/,
    ],
    [
      'a recipient that is retired too',
      { base_usdc: { recipient, retiredRecipients: [recipient.toLowerCase()] } },
      /also retired/,
    ],
    [
      'a smallest amount above the largest',
      { base_usdc: { recipient, minAmountMicro: 3n, maxAmountMicro: 2n } },
      /larger than the largest/,
    ],
  ])('refuses %s', (_, settings, message) => {
    expect(() => acceptAssets(settings)).toThrow(AssetRefused)
    expect(() => acceptAssets(settings)).toThrow(message)
  })
})

describe('the depth that an amount needs', () => {
  const [base] = acceptAssets({ base_usdc: { recipient: `0x${'1'.repeat(40)}` } })
  if (!base) throw new Error('there is a row')

  test('is ten blocks up to 100 units, safe up to 1000, finalized above', () => {
    expect(requiredDepth(base, 100_000_000n, 2)).toEqual({ rule: 'blocks', blocks: 10 })
    expect(requiredDepth(base, 100_000_001n, 2).rule).toBe('safe')
    expect(requiredDepth(base, 1_000_000_000n, 2).rule).toBe('safe')
    expect(requiredDepth(base, 1_000_000_001n, 2).rule).toBe('finalized')
  })

  test('is finalized for every amount with a single node, or what the operator set for that', () => {
    expect(requiredDepth(base, 1n, 1).rule).toBe('finalized')
    const own = { ...base, confirmations: { ...base.confirmations, singleNodeBlocks: 65 } }
    expect(requiredDepth(own, 1n, 1)).toEqual({ rule: 'blocks', blocks: 65 })
  })

  test('counts the own block of a transfer', () => {
    const depth = { latest: 109n, safe: 50n, finalized: 20n }
    expect(confirmationsOf(100n, 109n)).toBe(10)
    expect(confirmationsOf(110n, 109n)).toBe(0)
    expect(isDeepEnough({ rule: 'blocks', blocks: 10 }, 100n, depth)).toBe(true)
    expect(isDeepEnough({ rule: 'blocks', blocks: 10 }, 101n, depth)).toBe(false)
    expect(isDeepEnough({ rule: 'safe', blocks: 0 }, 50n, depth)).toBe(true)
    expect(isDeepEnough({ rule: 'safe', blocks: 0 }, 51n, depth)).toBe(false)
    expect(isDeepEnough({ rule: 'finalized', blocks: 0 }, 21n, depth)).toBe(false)
  })
})
