// swift-tools-version: 6.2
// Two plug-ins, which scripts/checks/own-plugins makes by scripts/plugin. It names the folder of RenderStack in the environment.
import PackageDescription

let renderStack = Context.environment["RENDERSTACK_FOLDER"] ?? "../.."
let name = renderStack.split(separator: "/").last.map(String.init) ?? ""
let products: [Target.Dependency] = [
    .product(name: "RenderStack", package: name), .product(name: "RenderStackPlugin", package: name),
]

let package = Package(
    name: "Plugins",
    products: [.library(name: "Warm", targets: ["Warm"]), .library(name: "Keys", targets: ["Keys"])],
    dependencies: [.package(path: renderStack, traits: [])],
    targets: [.target(name: "Warm", dependencies: products), .target(name: "Keys", dependencies: products)]
)
