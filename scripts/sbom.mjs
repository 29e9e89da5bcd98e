// Prints the bill of materials of a release, as CycloneDX 1.6: the dependencies in package.json and their transitive
// dependencies, with the hashes of the lock file. The same lock file gives identical bytes.
// npm run --silent sbom > divisor.cdx.json
import { readFileSync } from 'node:fs';

const read = (file) => JSON.parse(readFileSync(new URL(`../${file}`, import.meta.url), 'utf8'));

/** Returns the name of a package from its path under node_modules. */
const nameOf = (place) => place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length);
const purlOf = (name, version) => `pkg:npm/${name.replace('@', '%40')}@${version}`;
const refOf = (place, { version }) => `${purlOf(nameOf(place), version)}#${place}`;

/** Finds the path of a dependency of a package by the resolution of Node. */
function resolvePackage(packages, from, name) {
  for (let above = from; ; above = above.slice(0, Math.max(0, above.lastIndexOf('node_modules/') - 1))) {
    const place = `${above === '' ? '' : `${above}/`}node_modules/${name}`;
    if (place in packages) return place;
    if (above === '') return undefined;
  }
}

/**
 * Returns the bill of materials.
 * @param project package.json
 * @param lock package-lock.json
 */
export function createBillOfMaterials(project, { packages }) {
  const places = Object.keys(packages)
    .filter((place) => place !== '' && packages[place].dev !== true)
    .toSorted();
  const isIn = new Set(places);
  const component = (place) => {
    const { version, integrity, license } = packages[place];
    const [algorithm, digest] = integrity.split('-');
    return {
      type: 'library',
      'bom-ref': refOf(place, packages[place]),
      name: nameOf(place),
      version,
      scope: packages[place].optional === true ? 'optional' : 'required',
      hashes: [{ alg: algorithm.replace('sha', 'SHA-'), content: Buffer.from(digest, 'base64').toString('hex') }],
      ...(license === undefined ? {} : { licenses: [licenceOf(license)] }),
      purl: purlOf(nameOf(place), version),
    };
  };
  const dependencies = (place) => {
    const { dependencies: wanted = {}, optionalDependencies: optional = {} } = packages[place];
    const results = Object.keys({ ...wanted, ...optional }).map((name) => resolvePackage(packages, place, name));
    return [...new Set(results.filter((each) => isIn.has(each)).map((each) => refOf(each, packages[each])))].toSorted();
  };
  const root = purlOf(project.name, project.version);
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: {
        type: 'application',
        'bom-ref': root,
        name: project.name,
        version: project.version,
        licenses: [{ license: { id: project.license } }],
        purl: root,
      },
    },
    components: places.map(component),
    dependencies: [
      { ref: root, dependsOn: dependencies('') },
      ...places.map((place) => ({ ref: refOf(place, packages[place]), dependsOn: dependencies(place) })),
    ],
  };
}

const licenceOf = (text) => (/[ ()]/.test(text) ? { expression: text } : { license: { id: text } });

if (process.argv[1]?.endsWith('sbom.mjs')) {
  const bill = createBillOfMaterials(read('package.json'), read('package-lock.json'));
  process.stdout.write(`${JSON.stringify(bill, null, 2)}\n`);
}
