from examples.company.server import build_server

build_server().run()
