"""The networks of make_golden.py in PyTorch. Parameters are listed in the order of the layers.

A class also defines: input_shape, with the batch; classes, none for a network that reconstructs its input;
pixels, if the input is 0 ... 255 instead of [-1, 1); rate, if the usual one does not work.
"""

import torch
import torch.nn.functional as F
from torch import nn


class Mlp(nn.Module):
    input_shape, classes = (16, 784), 10

    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(784, 512)
        self.out = nn.Linear(512, 10)

    def forward(self, x):
        return self.out(torch.sigmoid(self.hidden(x)))


class Lenet5(nn.Module):
    input_shape, classes = (8, 1, 32, 32), 10

    def __init__(self):
        super().__init__()
        self.C1 = nn.Conv2d(1, 6, 5)
        self.C3 = nn.Conv2d(6, 16, 5)
        self.C5 = nn.Conv2d(16, 120, 5)
        self.F6 = nn.Linear(120, 84)
        self.out = nn.Linear(84, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.C1(x)), 2)  # 8x6x14x14
        x = F.max_pool2d(F.relu(self.C3(x)), 2)  # 8x16x5x5
        x = F.relu(self.C5(x)).flatten(1)  # 8x120
        return self.out(F.relu(self.F6(x)))


class Mixed(nn.Module):
    """One of each attribute that is easy to get wrong: uneven padding, groups, dilation, partial windows."""

    input_shape, classes = (4, 4, 13, 11), 7

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(4, 8, 3, stride=2, groups=2)
        self.conv2 = nn.Conv2d(8, 6, 3, padding=2, dilation=2)
        self.out = nn.Linear(36, 7)

    def forward(self, x):
        x = F.pad(x, (0, 1, 1, 2))  # left, right, top, bottom
        x = torch.tanh(self.conv1(x))  # 4x8x7x5
        x = F.avg_pool2d(x, 3, stride=2, padding=1, ceil_mode=True, count_include_pad=False)  # 4x8x4x3
        x = torch.sigmoid(self.conv2(x))  # 4x6x4x3
        x = F.max_pool2d(x, (3, 2), stride=(2, 1), padding=(1, 0), ceil_mode=True)  # 4x6x3x2
        return self.out(x.flatten(1))


class LenetCaffe(nn.Module):
    name, input_shape, classes = "lenet-caffe", (4, 1, 28, 28), 10

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 20, 5)
        self.conv2 = nn.Conv2d(20, 50, 5)
        self.ip1 = nn.Linear(800, 500)
        self.ip2 = nn.Linear(500, 10)

    def forward(self, x):
        x = F.max_pool2d(self.conv1(x), 2)  # 4x20x12x12
        x = F.max_pool2d(self.conv2(x), 2)  # 4x50x4x4
        return self.ip2(F.relu(self.ip1(x.flatten(1))))


class Ece408(nn.Module):
    """The form of 2018 and 2019: tanh, no biases in the convolutions, no second pooling."""

    classes, pixels, rate = 10, True, 1e-5
    maps, kernel, features, hidden = (), 0, 0, 0

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, self.maps[0], self.kernel, bias=False)
        self.conv2 = nn.Conv2d(self.maps[0], self.maps[1], self.kernel, bias=False)
        self.fc1 = nn.Linear(self.features, self.hidden)
        self.fc2 = nn.Linear(self.hidden, 10)

    def forward(self, x):
        x = self.conv2(F.max_pool2d(torch.tanh(self.conv1(x)), 2))
        return self.fc2(torch.tanh(self.fc1(x.flatten(1))))


class Ece408Fall2018(Ece408):
    name, input_shape = "ece408-2018fa", (2, 1, 72, 72)
    maps, kernel, features, hidden = (12, 24), 7, 24 * 27 * 27, 160


class Ece408Spring2019(Ece408):
    name, input_shape = "ece408-2019sp", (4, 1, 48, 48)
    maps, kernel, features, hidden = (6, 16), 5, 16 * 18 * 18, 140


class Ece408Fall2020(nn.Module):
    name, input_shape, classes, pixels, rate = "ece408-2020fa", (3, 1, 86, 86), 10, True, 1e-5

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 7)
        self.conv2 = nn.Conv2d(4, 16, 7)
        self.fc1 = nn.Linear(16 * 8 * 8, 32)
        self.fc2 = nn.Linear(32, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)  # 3x4x40x40
        x = F.max_pool2d(F.relu(self.conv2(x)), 4)  # 3x16x8x8
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


class Autoencoder(nn.Module):
    input_shape, classes, rate = (3, 784), None, 5.0

    def __init__(self):
        super().__init__()
        self.encode1 = nn.Linear(784, 256)
        self.code = nn.Linear(256, 64)
        self.decode1 = nn.Linear(64, 256)
        self.out = nn.Linear(256, 784)

    def forward(self, x):
        x = F.relu(self.code(F.relu(self.encode1(x))))
        return torch.sigmoid(self.out(F.relu(self.decode1(x))))


SMALL = (Mlp, Lenet5, Mixed)
ZOO = (LenetCaffe, Ece408Fall2018, Ece408Spring2019, Ece408Fall2020, Autoencoder)
